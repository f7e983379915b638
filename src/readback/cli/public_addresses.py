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
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from http.client import HTTPException
from typing import TypeVar
from urllib.parse import urlsplit

from readback import keys
from readback.cli.checks import Doubt
from readback.cli.exit_codes import CannotStart
from readback.client_address import network_digest
from readback.config import Config
from readback.contract import MODELS_PATH, VERSION_PREFIX
from readback.http_client import Answer, NoFreeSlot, Slots, SocketAddress, send

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
# What to do about a certificate, by the code of OpenSSL.
_REMEDIES = {
    10: "Renew it.",
    18: "Use one that is signed by an authority that programs trust.",
    20: "Serve the whole chain with the intermediate certificates, such as Certbot's "
    "fullchain.pem.",
    62: "Request one for this name.",
}
_REMEDIES |= {19: _REMEDIES[18], 21: _REMEDIES[20], 64: _REMEDIES[62]}


class PublicAddress:
    """One of the two addresses; its checks are made in this order."""

    def __init__(self, name: str, url: str, deadline: float) -> None:
        self.name = name
        self._url = url
        self._parts = urlsplit(url)
        self._host = self._parts.hostname or ""
        self._deadline = deadline

    def checks(self) -> Iterator[Check]:
        """Return the checks; after a problem, the following checks make no sense."""
        yield f"{self.name}: name", self._look_up
        yield f"{self.name}: connection", self._connect
        yield f"{self.name}: answer", self._judge

    def other_checks(self) -> Iterator[Check]:
        """Return the checks that are independent of each other."""
        if self._parts.scheme == "https" and not self._parts.port:
            yield f"{self.name}: redirect", self._redirect

    def _look_up(self) -> str:
        try:
            found = self._in_time(self._addresses)
        except (OSError, NoFreeSlot):  # also if it takes too long
            raise Doubt(
                f"{self._host} has no address here: check its DNS records, and the "
                "DNS of this machine."
            ) from None
        self.found = found
        return ", ".join(sorted({address[0] for _, address in found}))

    def _addresses(self) -> list[SocketAddress]:
        port = self._parts.port or self._parts.scheme
        found = socket.getaddrinfo(self._host, port, type=socket.SOCK_STREAM)
        return [(family, address) for family, *_, address in found]

    def _connect(self) -> str:
        try:
            _ = self.answer
        except ssl.SSLCertVerificationError as error:
            remedy = _REMEDIES.get(error.verify_code, _REMEDIES[18])
            problem = error.verify_message.rstrip(".")
            raise CannotStart(
                f"Programs refuse the certificate: {problem}. {remedy}"
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error) or "timed out"
            raise Doubt(
                f"No answer ({reason}). This network may not "
                "route its own public address back: run `curl -i "
                f"{self._url}` on another machine."
            ) from None
        if self._parts.scheme == "http":
            return "connected, without HTTPS"
        return "connected; the certificate and its chain are trusted"

    @cached_property
    def answer(self) -> Answer:
        return self.ask(self._url)

    def ask(self, url: str) -> Answer:
        fields = self.fields()
        return self._in_time(partial(send, "GET", url, _ANSWER_SECONDS, headers=fields))

    def fields(self) -> dict[str, str]:
        return {}

    def _judge(self) -> str:
        """Return that this installation answers; raise an error if another does."""
        status, headers, body = self.answer
        if location := headers.get("Location", "").partition("?")[0]:
            raise CannotStart(
                f"It redirects to {location[:200]!r}, and most programs do not follow: "
                "change the setting or the proxy."
            )
        if not self.is_ours(status, body):
            raise CannotStart(
                f"Something else answers, with status {status}: check that Readback "
                "is running, and where the proxy sends requests for this name."
            )
        return "this installation answers"

    def is_ours(self, status: int, body: bytes) -> bool:
        raise NotImplementedError

    def _redirect(self) -> str:
        try:
            answer = self.ask(f"http://{self._parts.netloc}/")
        except (OSError, HTTPException, ValueError):
            raise Doubt(
                "Port 80 does not answer, so an address without https:// fails: "
                "redirect it to HTTPS."
            ) from None
        if not answer.headers.get("Location", "").startswith("https://"):
            raise Doubt("Port 80 answers without encryption: redirect it to HTTPS.")
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

    def is_ours(self, status: int, body: bytes) -> bool:
        return self._sign in body


class PublicApi(PublicAddress):
    def __init__(self, config: Config, deadline: float) -> None:
        path = MODELS_PATH.removeprefix(VERSION_PREFIX)
        super().__init__("public API", config.base_url + path, deadline)
        self._config = config
        self._word = f"readback-doctor/{secrets.token_hex(8)}"
        self._network = b""

    def other_checks(self) -> Iterator[Check]:
        yield from super().other_checks()
        if self._network:
            yield "READBACK_TRUSTED_PROXY_COUNT", self._count

    def fields(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {keys.mint()}",
            "User-Agent": self._word,
            "X-Forwarded-For": ", ".join(reversed(_MADE_UP)),
        }

    def is_ours(self, status: int, body: bytes) -> bool:
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
        is_loopback = self._is_recorded("127.0.0.1")
        own = [_source(*address) for address in self.found]
        if is_loopback and any(map(_is_loopback, own)):
            raise Doubt(
                f"{count} is not too high. Whether it is too low can only be seen if "
                "the name does not lead to the loopback interface."
            )
        if is_loopback:
            raise CannotStart(
                f"{count} is too low, or the proxy sends no X-Forwarded-For: all "
                f"clients seem to have the address of the proxy. Set it to {count + 1}."
            )
        for address in (*own, *(address[0] for _, address in self.found)):
            if self._is_recorded(address):
                return f"{count} is right: the API has seen {address}"
        raise Doubt(
            f"The API has seen neither the address of this machine, {own[0]}, nor one "
            f"that was made up. With NAT in between, {count} is right; if a proxy on "
            "another machine is not counted, it is too low."
        )

    def _is_recorded(self, address: str) -> bool:
        from readback.cabinet.models import NetworkKey

        [key] = NetworkKey.objects.values_list("key", flat=True)
        return network_digest(address, bytes(key)) == self._network


def of(config: Config) -> list[PublicAddress]:
    """Return the public addresses that are set."""
    deadline = time.monotonic() + TOTAL_SECONDS
    found: list[PublicAddress] = []
    if config.cabinet_url:
        found.append(PublicCabinet(config, deadline))
    if config.public_base_url:
        found.append(PublicApi(config, deadline))
    return found


def _source(family: int, address: tuple[str, int]) -> str:
    """Return the address of this machine from which it reaches another one."""
    with socket.socket(family, socket.SOCK_DGRAM) as unsent:
        try:
            unsent.connect(address)
        except OSError:
            return ""
        return str(unsent.getsockname()[0])


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"
