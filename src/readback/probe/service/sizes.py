"""The step "echo: 8192 bytes": the largest text, or the largest one that passes.

Small requests pass and large ones hang where a link takes smaller packets than the rest
of the path and the messages that would say so are dropped (RFC 2923 §2.1), or where
something in between has a limit. Which it is shows in the size, which is found by
halving.

The halving waits only briefly for each text, so it may take one that is late for one
that is lost. Therefore the loss that decides is confirmed with the whole timeout, and
if that text passes after all, the halving goes on above it.
"""

from __future__ import annotations

from dataclasses import dataclass

from readback.contract import MAX_CONTENT_BYTES, MODEL
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.service import echo
from readback.probe.service.answers import parse_refusal
from readback.probe.service.unexpected import unexpected_response
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.context import CHAT, ProbeContext

# What becomes of a request or response that is too large for something in between.
_HANGS = {"http.silent", "http.stalled"}
_LOST = _HANGS | {
    "between.blocked",
    "between.other_response",
    "http.cut",
    "http.cut_short",
    "http.gateway",
    "http.proxy_page",
}
_SMALL_BYTES = 32
_PRECISION_BYTES = 32
# A packet of 1,500 bytes carries up to 1,460 of a body, one of 1,280 bytes (the
# smallest that IPv6 allows) up to 1,220; encryption and options take some of them.
_PACKET_BYTES = range(1_100, 1_500)
# A text that passes takes about as long as a small one, so do not wait much longer.
_PATIENCE = 10
_MIN_SECONDS, _MAX_SECONDS = 0.5, 2.0


def check(context: ProbeContext) -> Diagnosis:
    try:
        return echo.check(context, echo.largest_text())
    except ProbeError as error:
        if error.id not in _LOST:
            raise
        lost = error
    try:
        search = _Search(context, lost)
        search.halve()
        while not search.confirm():
            search.halve()
    except ProbeError:
        # The size is not the reason, or a limit of requests is reached.
        raise lost from None
    raise search.error()


@dataclass
class _Loss:
    """A size that did not pass, and what happened to it."""

    size: int
    error: ProbeError


class _Search:
    """The largest size that has passed, and the larger ones that did not."""

    def __init__(self, context: ProbeContext, lost: ProbeError) -> None:
        self._context = context
        self._passed, self._response = _SMALL_BYTES, self._send(_SMALL_BYTES)
        self._losses = [_Loss(MAX_CONTENT_BYTES, lost)]
        """In descending order; only the last one, which decides, is confirmed."""
        seconds = _PATIENCE * self._response.timing.total
        self._patience = max(_MIN_SECONDS, min(seconds, _MAX_SECONDS))
        self._are_requests = False

    def halve(self) -> None:
        """Bring the largest size that passes and the smallest loss close together."""
        while self._losses[-1].size - self._passed > _PRECISION_BYTES:
            size = (self._passed + self._losses[-1].size) // 2
            try:
                self._response = self._send(size, self._patience)
                self._passed = size
            except ProbeError as error:
                self._losses.append(_Loss(size, _lost(error)))

    def confirm(self) -> bool:
        """Return whether the smallest loss is lost; else note that it passes."""
        loss = self._losses[-1]
        try:
            self._are_requests = True
            self._send_for_refusal(loss.size)
            self._are_requests = False
            self._response = self._send(loss.size)
        except ProbeError as error:
            loss.error = _lost(error)
            return True
        self._passed = self._losses.pop().size
        if not self._losses:
            raise loss.error  # Every size passes, so it was chance.
        self._patience = max(self._patience, 2 * self._response.timing.total)
        return False

    def error(self) -> ProbeError:
        loss = self._losses[-1]
        total = self._response.received_bytes
        if self._are_requests:
            total = len(echo.request_body(_text(self._passed)))
        facts: dict[str, Fact] = {
            "what": "requests" if self._are_requests else "responses",
            "passes": self._passed,
            "fails": loss.size,
            "total": total,
        }
        if loss.error.id in _HANGS and total in _PACKET_BYTES:
            return ProbeError("between.mtu", **facts)
        status = loss.error.facts.get("status")
        outcome = f"status {status}" if status else "a closed connection"
        outcome = "no response" if loss.error.id in _HANGS else outcome
        return ProbeError("between.size_limit", outcome=outcome, **facts)

    def _send(self, size: int, patience: float | None = None) -> ProbeResponse:
        with self._context.new_client(patience=patience) as client:
            return echo.send_text(self._context, _text(size), client)

    def _send_for_refusal(self, size: int) -> None:
        """Ask for another model with a text of this size: the refusal is small."""
        body = echo.request_body(_text(size))
        body = body.replace(MODEL.encode(), b"m" * len(MODEL), 1)
        with self._context.new_client() as client:
            response = self._context.post_chat(body, client)
        if parse_refusal(response) is None:
            raise unexpected_response(response, f"{self._context.base_url}{CHAT}")


def _lost(error: ProbeError) -> ProbeError:
    """Return the error if the size can be its reason; raise it if not."""
    if error.id not in _LOST:
        raise error
    return error


def _text(size: int) -> str:
    return echo.largest_text().encode()[:size].decode(errors="ignore")
