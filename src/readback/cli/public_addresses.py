"""What `readback doctor` finds at the public addresses, asking as a stranger would.

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
from typing import TypeVar
from urllib.parse import urlsplit

from readback import keys
from readback.cli.checks import Doubt
from readback.cli.exit_codes import CannotStart
from readback.client_address import network_digest
from readback.config import Config
from readback.contract import MODELS_PATH, VERSION_PREFIX
from readback.http_client import Answer, Slots, SocketAddress, send
from readback.setting_values import is_loopback

Check = tuple[str, Callable[[], str]]
Result = TypeVar("Result")

# For both addresses together, and for one answer. The API comes last: the row of its
# request may take all that is left.
TOTAL_SECONDS = 10.0
_ANSWER_SECONDS = 4.0
_POLL_SECONDS = 0.1
# From RFC 5737, for examples only: no client has these addresses. The last entry of the
# header ends with 1.
_MADE_UP = [f"192.0.2.{number}" for number in range(1, 10)]
_REFUSED = b'{"error":{"code":"invalid_key"'


def checks(config: Config) -> Iterator[Check]:
    """Yield the checks of the public addresses that are set.

    After a problem, those that make no sense any more are left out.
    """
    deadline = time.monotonic() + TOTAL_SECONDS
    if config.cabinet_url:
        yield from PublicCabinet(config, deadline).checks()
    if config.public_base_url:
        yield from PublicApi(config, deadline).checks()


class PublicAddress:
    """One of the two addresses."""

    # What a request to it has in its head.
    fields: Mapping[str, str] = {}

    def __init__(self, name: str, url: str, deadline: float) -> None:
        self._name = name
        self._url = url
        self._parts = urlsplit(url)
        self._deadline = deadline
        self._found: list[SocketAddress] = []
        self._answer: Answer | None = None

    def checks(self) -> Iterator[Check]:
        yield f"{self._name}: name", self._look_up
        if self._found:
            yield f"{self._name}: connection", self._connect
        if self._answer:
            yield f"{self._name}: answer", partial(self._judge, self._answer)
            if self._parts.scheme == "https" and not self._parts.port:
                yield f"{self._name}: redirect", self._redirect

    def _look_up(self) -> str:
        host = self._parts.hostname or ""
        port = self._parts.port or self._parts.scheme
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        try:
            found = self._in_time(look_up)
        except OSError:  # includes TimeoutError
            raise Doubt(
                f"{host} has no address here: check its DNS records, and the DNS of "
                "this machine."
            ) from None
        self._found = [(family, address) for family, *_, address in found]
        return ", ".join(sorted({address[0] for _, address in self._found}))

    def _connect(self) -> str:
        try:
            self._answer = self._ask(self._url)
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
                f"No answer ({reason}). This network may not route its own public "
                f"address back: run `curl -i {self._url}` on another machine."
            ) from None
        if self._parts.scheme == "http":
            return "connected, without HTTPS"
        return "connected; the certificate and its chain are trusted"

    def _ask(self, url: str) -> Answer:
        ask = partial(send, "GET", url, _ANSWER_SECONDS, headers=self.fields)
        return self._in_time(ask)

    def _judge(self, answer: Answer) -> str:
        """Say that this installation answers; raise an error if another does."""
        if location := answer.headers.get("Location", "").partition("?")[0]:
            raise CannotStart(
                f"It redirects to {location[:200]!r}, and most programs do not follow: "
                "change the setting or the proxy."
            )
        if not self.is_ours(answer.body):
            raise CannotStart(
                f"Something else answers, with status {answer.status}: check that "
                "Readback is running, and where the proxy sends requests for this name."
            )
        return "this installation answers"

    def is_ours(self, body: bytes) -> bool:
        raise NotImplementedError

    def _redirect(self) -> str:
        location = ""
        try:
            answer = self._ask(f"http://{self._parts.netloc}/")
            location = answer.headers.get("Location", "")
        except (OSError, HTTPException, ValueError):
            pass
        if not location.startswith("https://"):
            raise Doubt(
                "Port 80 does not redirect to HTTPS, so an address without https:// "
                "fails: redirect it."
            )
        return "port 80 redirects to HTTPS"

    def _in_time(self, work: Callable[[], Result]) -> Result:
        """Return what the work returns; this limits the time of a name lookup."""
        left = self._deadline - time.monotonic()
        return Slots(1).run(work, max(0.01, min(_ANSWER_SECONDS, left)))


class PublicCabinet(PublicAddress):
    def __init__(self, config: Config, deadline: float) -> None:
        url = f"{config.effective_cabinet_url}/llms.txt"
        super().__init__("public cabinet", url, deadline)
        self._sign = f"Base URL: {config.base_url}\n".encode()

    def is_ours(self, body: bytes) -> bool:
        return self._sign in body


class PublicApi(PublicAddress):
    def __init__(self, config: Config, deadline: float) -> None:
        path = MODELS_PATH.removeprefix(VERSION_PREFIX)
        super().__init__("public API", config.base_url + path, deadline)
        self._config = config
        self._word = f"readback-doctor/{secrets.token_hex(8)}"
        self._network = b""
        self.fields = {
            "Authorization": f"Bearer {keys.mint()}",
            "User-Agent": self._word,
            "X-Forwarded-For": ", ".join(reversed(_MADE_UP)),
        }

    def checks(self) -> Iterator[Check]:
        yield from super().checks()
        if self._network:
            yield "READBACK_TRUSTED_PROXY_COUNT", self._count

    def is_ours(self, body: bytes) -> bool:
        if not body.startswith(_REFUSED):
            return False
        # Without a proxy that is counted, a unix socket has no address to be kept.
        binds = self._config.api_bind
        has_address = self._config.trusted_proxy_count or not binds[0].path
        if not (self._config.unmatched_requests and has_address):
            raise Doubt(
                "A Readback API answers. Only with READBACK_UNMATCHED_REQUESTS=on and "
                "the address of the client can be said whether it is this one."
            )
        self._network = self._recorded_network()
        if not self._network:
            raise CannotStart(
                "The API of another installation answers, or one with another "
                "database: check where the name and the proxy lead."
            )
        return True

    def _recorded_network(self) -> bytes:
        """Return the network that our request was recorded for; empty if it was not."""
        from readback.cabinet.models import UnmatchedRequest

        rows = UnmatchedRequest.objects.filter(user_agent=self._word)
        while not (row := rows.first()) and time.monotonic() < self._deadline:
            time.sleep(_POLL_SECONDS)
        return bytes(row.network) if row else b""

    def _count(self) -> str:
        """Compare the address in the database with those that it may be."""
        count = self._config.trusted_proxy_count
        for excess, address in enumerate(_MADE_UP, 1):
            if self._is_recorded(address):
                raise CannotStart(
                    f"{count} is too high: anyone can make up an address. Set it to "
                    f"{count - excess}."
                )
        own = [_source(*address) for address in self._found]
        if not self._is_recorded("127.0.0.1"):
            for address in (*own, *(address[0] for _, address in self._found)):
                if self._is_recorded(address):
                    return f"{count} is right: the API has seen {address}"
        elif not any(map(is_loopback, own)):
            raise CannotStart(
                f"{count} is too low, or the proxy sends no X-Forwarded-For: all "
                f"clients seem to have the address of the proxy. Set it to {count + 1}."
            )
        raise Doubt(
            f"{count} is not too high. Whether it is too low cannot be seen here, "
            "behind NAT or on the loopback interface: it must count each proxy "
            "between a client and the API."
        )

    def _is_recorded(self, address: str) -> bool:
        from readback.cabinet.models import NetworkKey

        [key] = NetworkKey.objects.values_list("key", flat=True)
        return network_digest(address, bytes(key)) == self._network


def _source(family: int, address: tuple[str, int]) -> str:
    """Return the address of this machine from which it reaches another one."""
    with socket.socket(family, socket.SOCK_DGRAM) as unsent:
        try:
            unsent.connect(address)
        except OSError:
            return ""
        return str(unsent.getsockname()[0])
