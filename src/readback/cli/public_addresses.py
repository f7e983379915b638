"""What `readback doctor` finds at the public addresses, as a stranger would.

The API gets a key that does not exist, a random word as User-Agent, and made-up entries
of X-Forwarded-For. The table of unmatched requests then shows whether this installation
answered, and which client address it saw. A network may not route its own public
address back, so an address that cannot be reached is a doubt.
"""

import secrets
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.client import HTTPException
from urllib.parse import urlsplit

from readback import keys
from readback.cli.checks import Doubt
from readback.cli.exit_codes import CannotStart
from readback.client_address import network_digest
from readback.config import Config
from readback.contract import MODELS_PATH, VERSION_PREFIX
from readback.http_client import Answer, Slots, send
from readback.setting_values import is_loopback

Check = tuple[str, Callable[[], str]]

# For both addresses together, and for one answer. The API comes last: waiting for its
# request's row may take all the time that is left.
TOTAL_SECONDS = 10.0
_ANSWER_SECONDS = 4.0
_POLL_SECONDS = 0.1
# From RFC 5737, for examples only: no client has these addresses. The last entry of the
# header ends with 1.
_MADE_UP = [f"192.0.2.{number}" for number in range(1, 10)]
_REFUSED = b'{"error":{"code":"invalid_key"'


def checks(config: Config) -> Iterator[Check]:
    """Yield the checks for the public addresses that are set."""
    deadline = time.monotonic() + TOTAL_SECONDS
    if config.cabinet_url:
        yield "public cabinet", partial(_check_cabinet, config, deadline)
    if config.public_base_url:
        api = PublicApi(config, deadline)
        yield "public API", api.check
        if api.network:
            yield "READBACK_TRUSTED_PROXY_COUNT", api.check_count


def _check_cabinet(config: Config, deadline: float) -> str:
    url = f"{config.effective_cabinet_url}/llms.txt"
    answer = _answer(url, deadline)
    sign = f"Base URL: {config.base_url}\n".encode()
    _require_readback(answer, is_readback=sign in answer.body)
    return _with_redirect(url, deadline)


class PublicApi:
    """The API's public address, and what the API recorded about our request."""

    def __init__(self, config: Config, deadline: float) -> None:
        self._config = config
        self._url = config.base_url + MODELS_PATH.removeprefix(VERSION_PREFIX)
        self._deadline = deadline
        self._word = f"readback-doctor/{secrets.token_hex(8)}"
        # The network that our request was recorded for; empty if it was not.
        self.network = b""

    def check(self) -> str:
        fields = {
            "Authorization": f"Bearer {keys.mint()}",
            "User-Agent": self._word,
            "X-Forwarded-For": ", ".join(reversed(_MADE_UP)),
        }
        answer = _answer(self._url, self._deadline, fields)
        _require_readback(answer, is_readback=answer.body.startswith(_REFUSED))
        # Without a trusted proxy, a unix socket has no address to record.
        binds = self._config.api_bind
        has_address = self._config.trusted_proxy_count or not binds[0].path
        if not (self._config.unmatched_requests and has_address):
            raise Doubt(
                "A Readback API answers. Only with READBACK_UNMATCHED_REQUESTS=on and "
                "the address of the client can be said whether it is this one."
            )
        self.network = self._recorded_network()
        if not self.network:
            raise CannotStart(
                "The API of another installation answers, or one with another "
                "database: check where the name and the proxy lead."
            )
        return _with_redirect(self._url, self._deadline)

    def check_count(self) -> str:
        """Check that the recorded address matches the configured number of proxies."""
        count = self._config.trusted_proxy_count
        for excess, address in enumerate(_MADE_UP, 1):
            if self._is_recorded(address):
                raise CannotStart(
                    f"{count} is too high: anyone can make up an address. Set it to "
                    f"{count - excess}."
                )
        ends = self._ends()
        if not self._is_recorded("127.0.0.1"):
            for address in ends:
                if self._is_recorded(address):
                    return f"{count} is right: the API has seen {address}"
        elif ends and not is_loopback(ends[0]):
            raise CannotStart(
                f"{count} is too low, or the proxy sends no X-Forwarded-For: all "
                f"clients seem to have the address of the proxy. Set it to {count + 1}."
            )
        raise Doubt(
            f"{count} is not too high. Whether it is too low cannot be seen here, "
            "behind NAT or on the loopback interface: it must count each proxy "
            "between a client and the API."
        )

    def _recorded_network(self) -> bytes:
        from readback.cabinet.models import UnmatchedRequest

        rows = UnmatchedRequest.objects.filter(user_agent=self._word)
        while not (row := rows.first()) and time.monotonic() < self._deadline:
            time.sleep(_POLL_SECONDS)
        return bytes(row.network) if row else b""

    def _is_recorded(self, address: str) -> bool:
        from readback.cabinet.models import NetworkKey

        [key] = NetworkKey.objects.values_list("key", flat=True)
        return network_digest(address, bytes(key)) == self.network

    def _ends(self) -> list[str]:
        """Return the addresses of both ends of a connection, ours first."""
        parts = urlsplit(self._url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        address = (parts.hostname or "", port)
        try:
            seconds = _seconds_left(self._deadline)
            with socket.create_connection(address, seconds) as connected:
                return [connected.getsockname()[0], connected.getpeername()[0]]
        except OSError:
            return []


def _answer(url: str, deadline: float, fields: Mapping[str, str] = {}) -> Answer:
    try:
        return _ask(url, deadline, fields)
    except ssl.SSLCertVerificationError as error:
        problem = error.verify_message.rstrip(".")
        raise CannotStart(
            f"Programs refuse the certificate: {problem}. Use one for this name "
            "that is valid and signed by an authority that programs trust, and "
            "serve its whole chain, such as Certbot's fullchain.pem."
        ) from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "timed out"
        raise Doubt(
            f"No answer ({reason}). This network may not know its own public name or "
            f"route its address back: run `curl -i {url}` on another machine."
        ) from None


def _ask(url: str, deadline: float, fields: Mapping[str, str] = {}) -> Answer:
    seconds = _seconds_left(deadline)
    ask = partial(send, "GET", url, seconds, headers=fields)
    return Slots(1).run(ask, seconds)  # which also limits the name lookup


def _seconds_left(deadline: float) -> float:
    """Return how long one answer may take."""
    return max(0.01, min(_ANSWER_SECONDS, deadline - time.monotonic()))


def _require_readback(answer: Answer, *, is_readback: bool) -> None:
    if location := answer.headers.get("Location", "").partition("?")[0]:
        raise CannotStart(
            f"It redirects to {location[:200]!r}, and most programs do not follow: "
            "change the setting or the proxy."
        )
    if not is_readback:
        raise CannotStart(
            f"Something else answers, with status {answer.status}: check that "
            "Readback is running, and where the proxy sends requests for this name."
        )


def _with_redirect(url: str, deadline: float) -> str:
    """Return what works here; raise `Doubt` if port 80 does not redirect to HTTPS."""
    parts = urlsplit(url)
    if parts.scheme == "http":
        return "this installation answers, without HTTPS"
    found = "this installation answers; its certificate and chain are trusted"
    if parts.port:
        return found
    location = ""
    try:
        answer = _ask(f"http://{parts.netloc}/", deadline)
        location = answer.headers.get("Location", "")
    except (OSError, HTTPException, ValueError):
        pass
    if not location.startswith("https://"):
        raise Doubt(
            "This installation answers, but port 80 does not redirect to HTTPS, so an "
            "address without https:// fails: redirect it."
        )
    return f"{found}; port 80 redirects to HTTPS"
