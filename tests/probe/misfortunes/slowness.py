"""Slow answers, timeouts and rate limits."""

import time
from dataclasses import replace

from tests.probe.gateway import (
    Behavior,
    Call,
    Reply,
    after,
    as_json,
    editing,
    every,
    first,
    hanging,
    has_key,
    is_chat,
    is_models,
    page,
    pass_on,
    resetting,
    when,
)
from tests.probe.misfortunes.arranging import OTHERS, kind_of, row

SLOW = r"slow|took|late|hang|no response|within|time"


def _row(name, behave, *says, by=OTHERS, timeout=4.0, **more):
    return row(name, behave, *(says or (SLOW,)), by=by, timeout=timeout, **more)


def _drip(seconds: float, piece: int) -> Behavior:
    return editing(lambda reply: replace(reply, pause=seconds, piece=piece))


def _stall(reply: Reply) -> Reply:
    half = len(reply.body) // 2
    return replace(reply, pause=30.0, piece=max(half, 1))


_SLOW = (
    _row("every answer takes a second", after(1.0), by=""),
    _row("every answer takes nine seconds", after(9.0), timeout=10.0),
    _row("every answer takes longer than the time-out", after(6.0), timeout=2.0),
    _row("completions never come", when(is_chat, hanging), timeout=2.0),
    _row(
        "requests with a key never get an answer", when(has_key, hanging), timeout=2.0
    ),
    _row(
        "the first answer takes three seconds (cold start)",
        first(1, after(3.0)),
        by="network operator you nobody",
        shows=(r"3\.\d+ s",),
    ),
    _row("bodies drip in ten bytes a tenth of a second", _drip(0.1, 10), timeout=10.0),
    _row("bodies drip in single bytes", _drip(0.2, 1), timeout=3.0),
    _row(
        "bodies stop in the middle",
        editing(_stall),
        "arrive|rest|stopped|middle",
        timeout=2.0,
        id="http.stalled",
    ),
    _row(
        "large answers stop in the middle",
        lambda call: _stall(pass_on(call)) if len(call.body) > 3000 else pass_on(call),
        timeout=2.0,
        blame="mtu",
    ),
    _row(
        "large requests hang",
        when(lambda call: len(call.body) > 6000, hanging),
        "large|size|bytes",
        timeout=2.0,
        blame="mtu",
        id="between.size_limit",
    ),
    _row(
        "packets above a size are lost (path MTU)",
        when(lambda call: len(call.body) > 1340, hanging),
        "size of a packet",
        "MTU",
        "filter",
        by="network operator",
        timeout=3.0,
        blame="mtu",
        id="between.mtu",
    ),
    _row(
        "every fourth request takes three seconds",
        every(4, after(3.0)),
        by="network operator you nobody",
    ),
)


class _Bucket:
    """Allows `size` requests within `seconds`; answers all others with `refusal`."""

    def __init__(self, size: int, seconds: float, refusal: Behavior) -> None:
        self._size, self._seconds, self._refusal = size, seconds, refusal
        self._passed: list[float] = []

    def __call__(self, call: Call) -> Reply:
        now = time.monotonic()
        self._passed = [at for at in self._passed if now - at < self._seconds]
        if len(self._passed) >= self._size:
            return self._refusal(call)
        self._passed.append(now)
        return pass_on(call)


def _bucket(size: int, refusal: Behavior) -> Behavior:
    """Limit requests per minute; each run has its own process, so its own count."""
    return _Bucket(size, 60.0, refusal)


_GATEWAY_429 = page(429, "429 Too Many Requests", Retry_After="17")
_OWN_429 = as_json(
    429,
    {"error": {"code": "rate_limited"}},
    Retry_After="3",
    X_Error_Detail="The key may send 20 requests a second.",
    X_Request_Id="3b1f8a1e-54bd-4d13-9a68-9f0b7a33cf0e",
)
LIMIT = r"429|rate|limit|too many"
# A reset or a 403 does not reveal a limit, so the report may name a failure that began
# during the run.
_LIMIT_OR_FAILURE = LIMIT + r"|\bof \d+ |after|some of|closed"


def _limit(name, behave, *says, by="network operator you nobody", **more):
    return _row(name, behave, LIMIT, *says, by=by, **more)


_LIMITS = (
    _limit("a gateway answers every request with 429", _GATEWAY_429, "17"),
    _limit(
        "a gateway answers 429 without Retry-After",
        page(429, "Slow down"),
        id="key.kept",
    ),
    _limit(
        "a gateway allows ten requests a minute",
        _bucket(10, _GATEWAY_429),
        "17",
        id="sometimes.rate_limited_early",
    ),
    _row(
        "a firewall resets after ten requests",
        _bucket(10, resetting),
        _LIMIT_OR_FAILURE,
        by="network operator",
    ),
    _row(
        "a firewall answers 403 after twelve requests",
        _bucket(12, page(403, "Forbidden")),
        _LIMIT_OR_FAILURE,
        by="network operator",
    ),
    _limit(
        "a gateway answers 503 after ten requests in a second",
        _Bucket(10, 1.0, page(503, "503 Service Temporarily Unavailable")),
        by="nobody",
    ),
    _limit(
        "the service itself limits the rate at once",
        when(has_key, _OWN_429),
        by="you",
        id="http.rate_limited",
    ),
    _limit("the probe uses up the rate of the service (8)", _bucket(8, _OWN_429)),
    _limit(
        "the probe uses up the rate of the service (13)",
        _bucket(13, _OWN_429),
        "3 s",
        by="nobody",
        id="sometimes.rate_limited",
    ),
    _limit(
        "completions alone are limited by a gateway",
        when(is_chat, _GATEWAY_429),
        by="operator",
        id="http.rate_limited",
    ),
    _limit(
        "the model list alone is limited by a gateway",
        when(lambda call: is_models(call) and has_key(call), _GATEWAY_429),
    ),
)
SLOWNESS = kind_of("slowness", *_SLOW) + kind_of("limits", *_LIMITS)
