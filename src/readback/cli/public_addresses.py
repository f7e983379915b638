"""The checks by `readback doctor` that use the public addresses as clients do.

The request to the API has a key that does not exist, a random User-Agent and made-up
entries in X-Forwarded-For. The table of unmatched requests then shows whether this
installation answered, and which client address it saw. An unreachable address is only a
warning, because some networks cannot reach their own public addresses.
"""

import secrets
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from urllib.parse import urlsplit

from readback import keys
from readback.cli.checks import Doubt
from readback.cli.exit_codes import CannotStart
from readback.client_address import network_digest
from readback.config import Config
from readback.contract import MODELS_PATH, VERSION_PREFIX
from readback.http_client import ERRORS, Answer, Slots, send
from readback.setting_values import is_loopback

# The time limit for each of two responses, for the request's row to appear, and for one
# more connection: ten seconds in all.
WAIT_SECONDS = 2.5
_POLL_SECONDS = 0.1
# RFC 5737 reserves these addresses for examples, so no client has them. The header
# contains them in reverse order: the first one here is its last entry.
_MADE_UP = [f"192.0.2.{number}" for number in range(1, 10)]
_REFUSED = b'{"error":{"code":"invalid_key"'


def checks(config: Config) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the checks for the public addresses that are set."""
    if config.cabinet_url:
        yield "public cabinet", partial(_check_cabinet, config)
    if config.public_base_url:
        api = PublicApi(config)
        yield "public API", api.check
        if api.network:
            yield "READBACK_TRUSTED_PROXY_COUNT", api.check_count


def _check_cabinet(config: Config) -> str:
    answer = _answer(f"{config.effective_cabinet_url}/llms.txt")
    sign = f"Base URL: {config.base_url}\n".encode()
    return _require_readback(answer, sign in answer.body)


class PublicApi:
    """The API's public address, and what the API recorded about our request."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._word = f"readback-doctor/{secrets.token_hex(8)}"
        # The digest of the network in our request's row; empty if there is no row.
        self.network = b""

    def check(self) -> str:
        fields = {
            "Authorization": f"Bearer {keys.mint()}",
            "User-Agent": self._word,
            "X-Forwarded-For": ", ".join(reversed(_MADE_UP)),
        }
        path = MODELS_PATH.removeprefix(VERSION_PREFIX)
        answer = _answer(self._config.base_url + path, fields)
        found = _require_readback(answer, answer.body.startswith(_REFUSED))
        # Without a trusted proxy, a unix socket has no client address to record.
        binds = self._config.api_bind
        has_address = self._config.trusted_proxy_count or not binds[0].path
        if not (self._config.unmatched_requests and has_address):
            raise Doubt(
                "A Readback API answers. To see whether it is this one, set "
                "READBACK_UNMATCHED_REQUESTS=on and, if it listens on a unix socket, "
                "READBACK_TRUSTED_PROXY_COUNT."
            )
        self.network = self._recorded_network()
        if not self.network:
            raise CannotStart(
                "The API that answers belongs to another installation or uses "
                "another database: check where the name and the proxy lead."
            )
        return found

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
            f"{count} is not too high. Behind NAT or on the loopback interface, this "
            "command cannot tell whether it is too low: it must be the number of "
            "proxies between a client and the API."
        )

    def _recorded_network(self) -> bytes:
        from readback.cabinet.models import UnmatchedRequest

        rows = UnmatchedRequest.objects.filter(user_agent=self._word)
        deadline = time.monotonic() + WAIT_SECONDS
        while not (row := rows.first()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return bytes(row.network) if row else b""

    def _is_recorded(self, address: str) -> bool:
        from readback.cabinet.models import NetworkKey

        [key] = NetworkKey.objects.values_list("key", flat=True)
        return network_digest(address, bytes(key)) == self.network

    def _ends(self) -> list[str]:
        """Return the addresses of both ends of a connection, ours first."""
        parts = urlsplit(self._config.base_url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        address = (parts.hostname or "", port)
        try:
            with socket.create_connection(address, WAIT_SECONDS) as connected:
                return [connected.getsockname()[0], connected.getpeername()[0]]
        except OSError:
            return []


def _answer(url: str, fields: Mapping[str, str] = {}) -> Answer:
    ask = partial(send, "GET", url, WAIT_SECONDS, headers=fields)
    try:
        return Slots(1).run(ask, WAIT_SECONDS)  # also limits the name lookup
    except ssl.SSLCertVerificationError as error:
        problem = error.verify_message.rstrip(".")
        raise CannotStart(
            f"Programs refuse the certificate: {problem}. Use one for this name "
            "that is valid and signed by an authority that programs trust, and "
            "serve its whole chain, such as Certbot's fullchain.pem."
        ) from None
    except ERRORS as error:
        reason = getattr(error, "strerror", None) or str(error) or "timed out"
        raise Doubt(
            f"No answer ({reason}). This network may not know its own public name or "
            f"route its address back: run `curl -i {url}` on another machine."
        ) from None


def _require_readback(answer: Answer, is_readback: bool) -> str:
    """Return the check's result; raise `CannotStart` if something else answered."""
    if is_readback:
        return "this installation answers"
    location = answer.headers.get("Location", "").partition("?")[0][:200]
    redirect = f" and a redirect to {location!r}" if location else ""
    raise CannotStart(
        f"Something else answers, with status {answer.status}{redirect}: check that "
        "Readback is running, and where the proxy sends requests for this name."
    )
