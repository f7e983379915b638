"""HTTP requests: counted against the budget, timed, errors turned into diagnoses.

The client follows no redirects and ignores the environment: an earlier step has chosen
the route, and the report shows it.
"""

from __future__ import annotations

import ssl
import threading
import time
from dataclasses import dataclass, field

import httpx

from readback import __version__
from readback.probe.entered.secret import Secret
from readback.probe.formatting import format_seconds, sanitize
from readback.probe.results import ProbeError

MAX_REQUESTS = 60
_MAX_BODY_BYTES = 1 << 20
_HEADERS = {
    "User-Agent": f"readback-probe/{__version__}",
    "Accept": "application/json",
    # Ask for an uncompressed response, so that a proxy that compresses is detected.
    "Accept-Encoding": "identity",
}


class RequestBudget:
    """The number of requests that one run may send."""

    def __init__(self, limit: int = MAX_REQUESTS) -> None:
        self.limit = limit
        self.spent = 0
        self._lock = threading.Lock()  # Steps in the background also spend.

    def spend(self) -> None:
        with self._lock:
            if self.spent >= self.limit:
                raise ProbeError("skipped.budget", limit=self.limit)
            self.spent += 1


@dataclass
class Timing:
    """Seconds per phase of one request; `connect` is None on a reused connection."""

    connect: float | None = None
    tls: float | None = None
    answer: float = 0.0
    _started_at: dict[str, float] = field(default_factory=dict)

    def trace(self, event: str, info: object) -> None:
        """Record the time of an httpx trace event."""
        name, _, phase = event.rpartition(".")
        if phase == "started":
            self._started_at[name] = time.monotonic()
        elif phase == "complete" and name == "connection.connect_tcp":
            self.connect = time.monotonic() - self._started_at[name]
        elif phase == "complete" and name.endswith(".start_tls"):
            self.tls = time.monotonic() - self._started_at[name]

    def finish(self) -> None:
        sent = self._started_at.get("http11.send_request_headers", time.monotonic())
        self.answer = time.monotonic() - sent

    @property
    def total(self) -> float:
        return (self.connect or 0.0) + (self.tls or 0.0) + self.answer


@dataclass(frozen=True)
class ProbeResponse:
    status: int
    headers: httpx.Headers
    body: bytes
    timing: Timing


class ProbeClient:
    """An HTTP client that keeps its connection open, as most clients do."""

    def __init__(
        self,
        trusted: ssl.SSLContext,
        proxy_url: str | None,
        timeout: float,
        budget: RequestBudget,
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

    def __enter__(self) -> ProbeClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(
        self,
        method: str,
        url: str,
        *,
        key: Secret | None = None,
        body: bytes | None = None,
    ) -> ProbeResponse:
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
        except httpx.ProxyError as error:
            reason = sanitize(str(error))
            host = request.url.host
            raise ProbeError("proxy.refuses", host=host, reason=reason) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            reason = sanitize(str(error)) or "no response"
            raise ProbeError("http.no_connection", reason=reason) from None
        except httpx.TimeoutException:
            raise ProbeError(
                "http.silent", timeout=format_seconds(self._timeout)
            ) from None
        except httpx.TransportError:
            raise ProbeError("http.cut") from None

    def _read(self, response: httpx.Response, timing: Timing) -> ProbeResponse:
        deadline = time.monotonic() + self._timeout
        body = bytearray()
        try:
            for chunk in response.iter_bytes():
                body += chunk
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("")
                if len(body) > _MAX_BODY_BYTES:
                    break
        except httpx.DecodingError:
            raise ProbeError("http.garbled") from None
        except httpx.TimeoutException:
            raise ProbeError(
                "http.stalled", timeout=format_seconds(self._timeout)
            ) from None
        except httpx.TransportError:
            raise ProbeError("http.cut_short") from None
        finally:
            response.close()
        timing.finish()
        return ProbeResponse(
            response.status_code, response.headers, bytes(body), timing
        )
