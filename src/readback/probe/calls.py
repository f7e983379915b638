"""Requests over HTTP: within the budget, timed in their parts, faults named.

Everything that the probe asks over HTTP goes through `Caller`. It follows no
redirect and reads no setting from the environment: the steps before have found the
way, and the report says so.
"""

import ssl
import time
from dataclasses import dataclass, field

import httpx

from readback import __version__
from readback.probe.findings import Trouble
from readback.probe.secret import Secret
from readback.probe.wording import foreign, seconds

MAX_REQUESTS = 60
_MAX_ANSWER_BYTES = 1 << 20
_HEADERS = {
    "User-Agent": f"readback-probe/{__version__}",
    "Accept": "application/json",
    # A plain answer: whoever compresses it nevertheless is found out.
    "Accept-Encoding": "identity",
}


class Budget:
    """How many requests may be sent in one walk."""

    def __init__(self, limit: int = MAX_REQUESTS) -> None:
        self.limit = limit
        self.spent = 0

    def spend(self) -> None:
        if self.spent >= self.limit:
            raise Trouble("skipped.budget", limit=self.limit)
        self.spent += 1


@dataclass(slots=True)
class Timing:
    """Seconds of the parts of one request; no connect: the connection was kept."""

    connect: float | None = None
    tls: float | None = None
    answer: float = 0.0
    _began: dict[str, float] = field(default_factory=dict)

    def trace(self, event: str, info: object) -> None:
        """Take the time of httpx's events."""
        name, _, phase = event.rpartition(".")
        if phase == "started":
            self._began[name] = time.monotonic()
        elif phase == "complete" and name == "connection.connect_tcp":
            self.connect = time.monotonic() - self._began[name]
        elif phase == "complete" and name.endswith(".start_tls"):
            self.tls = time.monotonic() - self._began[name]

    def finish(self) -> None:
        sent = self._began.get("http11.send_request_headers", time.monotonic())
        self.answer = time.monotonic() - sent

    @property
    def total(self) -> float:
        return (self.connect or 0.0) + (self.tls or 0.0) + self.answer


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: httpx.Headers
    body: bytes
    timing: Timing


class Caller:
    """Asks for one base address; keeps its connection as any client does."""

    def __init__(
        self,
        trusted: ssl.SSLContext,
        proxy_url: str | None,
        timeout: float,
        budget: Budget,
    ) -> None:
        self._timeout = timeout
        self._budget = budget
        self._client = httpx.Client(
            verify=trusted,
            proxy=proxy_url,
            timeout=timeout,
            trust_env=False,
            follow_redirects=False,
            headers=_HEADERS,
        )

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(
        self,
        method: str,
        url: str,
        *,
        key: Secret | None = None,
        body: bytes | None = None,
    ) -> Answer:
        self._budget.spend()
        headers = {} if body is None else {"Content-Type": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key.reveal()}"
        timing = Timing()
        request = self._client.build_request(
            method,
            url,
            headers=headers,
            content=body,
            extensions={"trace": timing.trace},
        )
        return self._read(self._send(request), timing)

    def _send(self, request: httpx.Request) -> httpx.Response:
        try:
            return self._client.send(request, stream=True)
        except httpx.ProxyError as fault:
            reason = foreign(str(fault))
            host = request.url.host
            raise Trouble("proxy.refuses", host=host, reason=reason) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as fault:
            reason = foreign(str(fault)) or "no answer"
            raise Trouble("http.no_connection", reason=reason) from None
        except httpx.TimeoutException:
            raise Trouble("http.silent", timeout=seconds(self._timeout)) from None
        except httpx.TransportError:
            raise Trouble("http.cut") from None

    def _read(self, response: httpx.Response, timing: Timing) -> Answer:
        deadline = time.monotonic() + self._timeout
        body = bytearray()
        try:
            for piece in response.iter_bytes():
                body += piece
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("")
                if len(body) > _MAX_ANSWER_BYTES:
                    break
        except httpx.DecodingError:
            raise Trouble("http.garbled") from None
        except httpx.TimeoutException:
            raise Trouble("http.stalled", timeout=seconds(self._timeout)) from None
        except httpx.TransportError:
            raise Trouble("http.cut_short") from None
        finally:
            response.close()
        timing.finish()
        return Answer(response.status_code, response.headers, bytes(body), timing)
