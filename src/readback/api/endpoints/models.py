"""GET /v1/models: the list of the one model."""

import json

from readback.api.endpoints.exchange import Exchange
from readback.contract import MODEL_LIST

BODY = json.dumps(MODEL_LIST, separators=(",", ":")).encode()


class ModelList(Exchange):
    """Lists the model. A body is read, but its content is ignored."""

    __slots__ = ()

    def answer(self, body: bytes) -> bytes:
        return self._count_success(self._replies.ok(BODY), len(body))
