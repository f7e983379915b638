"""GET /v1/models: the list of the one model."""

import json

from readback.api.endpoints.exchange import Exchange
from readback.contract import MODEL, MODEL_OWNER

_LIST = {
    "object": "list",
    "data": [{"id": MODEL, "object": "model", "owned_by": MODEL_OWNER}],
}
BODY = json.dumps(_LIST, separators=(",", ":")).encode()


class ModelList(Exchange):
    """Lists the model. A body, if one comes, is not looked at."""

    __slots__ = ()

    def answer(self, body: bytes) -> bytes:
        return self._count(self._services.replies.ok(BODY))
