"""A request for an unknown path: every service can refuse it, and it needs no key."""

from __future__ import annotations

from collections.abc import Mapping

from readback.probe.common.results import ProbeError
from readback.probe.service.refusals import parse_refusal
from readback.probe.transport.context import UNKNOWN, ProbeContext

# What is in between may leave a program waiting. Who finds that asks again, patiently.
_BRIEFLY = 3.0


def foreign_answer(
    context: ProbeContext,
    headers: Mapping[str, str],
    body: bytes | None = None,
    identity: Mapping[str, str] | None = None,
    *,
    is_patient: bool = False,
) -> str:
    """Return how the request is answered if not by the service, else nothing.

    On a busy machine the service may be late; only a patient request tells for sure.
    """
    path = f"{context.base_url.path}{UNKNOWN}"
    method = "GET" if body is None else "POST"
    patience = None if is_patient else _BRIEFLY
    try:
        with context.new_client(patience=patience, identity=identity) as client:
            response = client.request(method, path, body=body, headers=headers)
    except ProbeError as error:
        if error.id == "skipped.budget":
            raise
        late = error.id in ("http.silent", "http.stalled")
        return "no response" if late else "a closed connection"
    return "" if parse_refusal(response) else f"status {response.status}"
