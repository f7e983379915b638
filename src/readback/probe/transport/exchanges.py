"""Responses, the outcome of each request, and the limit on the number of requests.

If identical requests fail only sometimes, the path is unreliable. Every request is
therefore recorded here, with the peer and the peer's certificate.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import cached_property
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from readback.probe.common.catalogue import has_tag, say
from readback.probe.common.formatting import format_duration
from readback.probe.common.results import ProbeError
from readback.probe.transport.connecting import Proxy

MAX_REQUESTS = 60
# "Sun, 06 Nov 1994 08:49:37 GMT", with room for a longer time zone.
_DATE_LENGTH = 64
# Only the beginning of a page is decoded and searched.
_SEARCHED_BYTES = 65_536
_LINE_LENGTH = 1000
_META_BYTES = 2048
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_META_CHARSET = re.compile(
    rb"<meta[^<>]{0,80}charset=[\"']?([\w-]{1,40})", re.IGNORECASE
)
# Values of `badness`.
_REFUSED = 3
_FAILED = 4


@dataclass(frozen=True)
class ProbeResponse:
    url: str
    status: int
    headers: Message
    body: bytes
    seconds: float
    """How long the answer took, excluding the time to connect."""
    proxy: Proxy | None = None
    """The proxy that forwarded the request, or answered it itself."""
    is_cut: bool = False
    """Whether the probe stopped reading the body because it was too long."""

    @property
    def is_success(self) -> bool:
        """Whether clients treat it as a success: any status from 200 to 299."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def figure(self) -> str:
        return format_duration(self.seconds)

    @property
    def retry_after(self) -> str:
        """The seconds to wait before trying again; "" if missing or given as a date."""
        after = self.headers.get("Retry-After", "").strip()
        return after if re.fullmatch("[0-9]{1,9}", after) else ""

    @property
    def has_slash(self) -> bool:
        """Whether this is a redirect that only adds a slash; all clients follow it."""
        location = self.headers.get("Location", "")
        is_same = location in (f"{self.url}/", f"{urlsplit(self.url).path}/")
        return is_same and self.status in (301, 302, 307, 308)

    @property
    def is_upgrade(self) -> bool:
        """Whether clients send the same again to https, with the key and the text."""
        # On 301 and 302, they would repeat a POST as a GET.
        target = self.url.replace("http:", "https:", 1)
        is_kept = self.status in (307, 308) and not self.proxy
        return is_kept and self.headers.get("Location") == target != self.url

    @property
    def date(self) -> datetime | None:
        with suppress(TypeError, ValueError, IndexError, OverflowError, OSError):
            sent = parsedate_to_datetime(self.headers.get("Date", "")[:_DATE_LENGTH])
            return sent.astimezone(timezone.utc)
        return None

    @property
    def text(self) -> str:
        """The beginning of the body, decoded with its declared character set."""
        start = self.body[:_SEARCHED_BYTES]
        declared = _CHARSET.search(self.headers.get("Content-Type", "")[:_LINE_LENGTH])
        inside = _META_CHARSET.search(start[:_META_BYTES])
        named = declared[1] if declared else inside[1].decode() if inside else "utf-8"
        try:
            return start.decode(named, "replace")
        except LookupError:
            return start.decode("utf-8", "replace")

    @cached_property
    def json(self) -> Any:
        return parse_json(self.body)


def parse_json(body: bytes) -> Any:
    try:
        # Converting many digits to an integer takes quadratic time.
        return json.loads(body, parse_int=float)
    except (ValueError, RecursionError):
        return None


@dataclass(eq=False)
class NotedRequest:
    """A request, where it was sent, and what was received."""

    target: str
    method: str
    path: str
    has_key: bool = False
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    peer: str = ""
    certificate: bytes = b""
    is_reused: bool = False
    status: int = 0
    form: str = ""
    """A JSON response's field names; for any other response, its content type."""
    error: str = ""
    is_untrusted: bool = False
    finding: str = ""
    """The id of the failure that a step has found in the response."""
    seconds: float = 0.0
    """How long the answer took, including the time to connect."""
    moment: float = field(default_factory=lambda: time.monotonic())

    @property
    def request(self) -> tuple[object, ...]:
        """Everything that was sent; identical requests should get the same response."""
        sent = sorted(self.headers.items())
        return self.target, self.method, self.path, self.has_key, self.body, *sent

    @property
    def outcome(self) -> str:
        """The kind of result; identical requests should have the same outcome."""
        if self.badness == _FAILED and self.status < HTTPStatus.BAD_REQUEST:
            return "untrusted" if self.is_untrusted else "failed"
        if self.status >= HTTPStatus.BAD_REQUEST:
            return f"{self.status} {self.form}"
        return (self.finding or "ok") if self.form.startswith("{") else self.form

    @property
    def badness(self) -> int:
        """How far the outcome is from that of a working service, from 0 to 4."""
        is_json = self.form.startswith("{")
        is_interim = 0 < self.status < HTTPStatus.OK
        if self.error or is_interim or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return _FAILED
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            return _REFUSED
        if self.status >= HTTPStatus.BAD_REQUEST:
            return 1 if is_json else 2
        return 0 if is_json and not self.finding else 2

    @property
    def is_failure(self) -> bool:
        return self.badness >= _REFUSED

    def answered(self, response: ProbeResponse) -> None:
        self.status = response.status
        self.seconds = time.monotonic() - self.moment
        headers = response.headers
        content = response.json
        self.form = headers.get_content_type()
        if isinstance(content, dict):
            error = content.get("error")
            inner = sorted(error) if isinstance(error, dict) else []
            self.form = f"{{{','.join([*sorted(content), *inner])}}}"


class RequestBudget:
    def __init__(self, limit: int = MAX_REQUESTS) -> None:
        self.limit = limit
        self.spent = 0
        self.exchanges: list[NotedRequest] = []
        self.limit_status = 0
        """The status 429 once the run has used up a rate limit, else 0."""
        self.wait = ""
        """How many seconds the service asks clients to wait, or "a few"."""
        self._lock = threading.Lock()  # Background threads also use the budget.

    def spend(self) -> None:
        with self._lock:
            if self.limit_status or self.spent >= self.limit:
                raise ProbeError("skipped.limit")
            self.spent += 1


def mixed_requests(exchanges: Iterable[NotedRequest]) -> list[list[NotedRequest]]:
    """Return the groups of identical requests of which only some succeeded."""
    groups: dict[tuple[object, ...], list[NotedRequest]] = {}
    exchanges = list(exchanges)
    # A 429 from an address that has answered is a rate limit; otherwise it is a fault.
    answering = {noted.peer for noted in exchanges if is_answered(noted)}
    for noted in exchanges:
        is_limited = noted.status == HTTPStatus.TOO_MANY_REQUESTS
        if not is_limited or noted.peer not in answering:
            groups.setdefault(noted.request, []).append(noted)
    return [equal for equal in groups.values() if _is_mixed(equal)]


def _is_mixed(equal: list[NotedRequest]) -> bool:
    best = min(noted.badness for noted in equal)
    is_different = len({noted.outcome for noted in equal}) > 1
    is_worse = best <= 1 or any(noted.is_failure for noted in equal)
    return best < _REFUSED and is_different and is_worse


def worse_than_equal(log: Iterable[NotedRequest]) -> set[NotedRequest]:
    """Return requests that did worse than an identical one, or could not connect."""
    log = list(log)
    is_open = any(noted.status for noted in log)
    bad = {noted for noted in log if is_open and noted.error == "http.no_connection"}
    for equal in mixed_requests(log):
        counts = Counter(noted.outcome for noted in equal)
        good = min(equal, key=lambda noted: (noted.badness, -counts[noted.outcome]))
        bad |= {noted for noted in equal if noted.outcome != good.outcome}
    return bad


def is_answered(noted: NotedRequest) -> bool:
    """Return whether there was a response other than a refusal with 429."""
    return noted.status not in (0, HTTPStatus.TOO_MANY_REQUESTS)


def uses_up_limit(log: Iterable[NotedRequest]) -> bool:
    """Return whether an address answered requests before it refused them with 429."""
    answered = set()
    for noted in log:
        kind = (noted.peer, noted.method, noted.has_key)
        if is_answered(noted):
            answered.add(kind)
        # With 429, some services report an account's quota, not a rate limit.
        elif noted.status and kind in answered and noted.finding != "endpoint.quota":
            return True
    return False


def outcome_of(error: ProbeError) -> str:
    if has_tag(error.id, "late") or error.id == "http.no_connection":
        return say("no_response")
    if status := error.facts.get("status"):
        return say("with_status", status=status)
    return f"{say('a_closed_connection')} {error.facts.get('cut', '')}".rstrip()


def peer_address(sock: socket.socket) -> str:
    try:
        return str(sock.getpeername()[0])
    except (OSError, IndexError):
        return ""
