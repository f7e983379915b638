"""How a misfortune comes about: somebody types something, or something stands between.

Each function here gives a context in which the situation holds; what a proxy does to
the messages that pass is in `mischief`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.probe import sockets
from tests.probe.relay import Answer, Relay, ToAnswer, ToRequest, relay
from tests.support.authority import Authority
from tests.support.server import Server

SHORT = 1.0
"""Seconds to wait where waiting is the point."""


@dataclass(frozen=True)
class World:
    """What a misfortune has at hand: a Readback that works, and two keys."""

    readback: Server
    revoked_key: str
    authority: Authority
    folder: Path


@dataclass(frozen=True)
class Situation:
    """What somebody gives to the probe, and what is in their environment."""

    base_url: str
    key: str
    timeout: float = 10.0
    cabinet: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


Befall = Callable[[World], AbstractContextManager[Situation]]


@dataclass(frozen=True)
class Misfortune:
    name: str
    id: str
    befall: Befall


def typed(change: Callable[[str], str]) -> Befall:
    """Somebody types the address in another way."""

    @contextmanager
    def befall(world: World) -> Iterator[Situation]:
        yield Situation(change(world.readback.base_url), world.readback.api_key)

    return befall


def with_key(change: Callable[[str], str]) -> Befall:
    """Somebody gives the key in another way."""

    @contextmanager
    def befall(world: World) -> Iterator[Situation]:
        yield Situation(world.readback.base_url, change(world.readback.api_key))

    return befall


@contextmanager
def revoked_key(world: World) -> Iterator[Situation]:
    yield Situation(world.readback.base_url, world.revoked_key)


def on_a_socket(behave: sockets.Behaviour, scheme: str = "http") -> Befall:
    @contextmanager
    def befall(world: World) -> Iterator[Situation]:
        with sockets.behaving(behave) as port:
            url = f"{scheme}://127.0.0.1:{port}/v1"
            yield Situation(url, world.readback.api_key, timeout=SHORT)

    return befall


def between(
    on_request: ToRequest = lambda request: request,
    on_answer: ToAnswer = lambda answer: answer,
    host: str = "127.0.0.1",
    timeout: float = 10.0,
) -> Befall:
    """A proxy stands between, and does something to what passes."""

    @contextmanager
    def befall(world: World) -> Iterator[Situation]:
        upstream = world.readback.base_url
        with relay(upstream, on_request, on_answer, host=host) as server:
            url = f"http://{authority_of(server)}/v1"
            yield Situation(url, world.readback.api_key, timeout)

    return befall


def changing(change: Callable[[str], str]) -> Befall:
    """A proxy changes the text on its way back."""
    return between(on_answer=lambda answer: answer.with_content(change))


def answering(status: int, body: bytes, **headers: str) -> Befall:
    """Something else answers, whatever is asked."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return between(on_answer=lambda _: Answer(status, "Said So", named, body))


def encrypted(
    trusted: bool = True, scheme: str = "https", issuer: str = "", **certificate: object
) -> Befall:
    """The service is behind TLS, with a certificate of some kind."""

    @contextmanager
    def befall(world: World) -> Iterator[Situation]:
        authority = world.authority
        if issuer:
            authority = Authority(world.folder / issuer, issuer)
        context = authority.serves(**certificate)
        with relay(world.readback.base_url, tls=context) as server:
            url = f"{scheme}://localhost:{server.server_port}/v1"
            trust = {"SSL_CERT_FILE": str(authority.root)} if trusted else {}
            yield Situation(url, world.readback.api_key, 5.0, environment=trust)

    return befall


def through_proxy(scheme: str, status: int) -> Befall:
    """The environment names a forward proxy, which refuses."""

    @contextmanager
    def befall(world: World) -> Iterator[Situation]:
        said = Answer(status, "Refused", {"Connection": "close"}, b"no")
        with relay(world.readback.base_url, on_answer=lambda _: said) as server:
            variable = f"{scheme}_proxy"
            proxy = {variable: f"http://{authority_of(server)}", "no_proxy": ""}
            url = f"{scheme}://localhost:1/v1"
            yield Situation(url, world.readback.api_key, environment=proxy)

    return befall


def authority_of(server: Relay) -> str:
    host = server.server_address[0]
    return (
        f"[{host}]:{server.server_port}"
        if ":" in host
        else f"{host}:{server.server_port}"
    )


@contextmanager
def closed_port(world: World) -> Iterator[Situation]:
    url = f"http://127.0.0.1:{sockets.closed_port()}/v1"
    yield Situation(url, world.readback.api_key)


@contextmanager
def black_hole(world: World) -> Iterator[Situation]:
    with sockets.black_hole() as port:
        url = f"http://127.0.0.1:{port}/v1"
        yield Situation(url, world.readback.api_key, timeout=SHORT)


@contextmanager
def closed_proxy(world: World) -> Iterator[Situation]:
    proxy = {"http_proxy": f"http://127.0.0.1:{sockets.closed_port()}", "no_proxy": ""}
    key = world.readback.api_key
    yield Situation(world.readback.base_url, key, environment=proxy)


@contextmanager
def socks(world: World) -> Iterator[Situation]:
    proxy = {"all_proxy": "socks5://user:hush@127.0.0.1:1080", "no_proxy": ""}
    key = world.readback.api_key
    yield Situation(world.readback.base_url, key, environment=proxy)


def cabinet_saying(status: int = 200, **fields: str | None) -> Befall:
    """The cabinet shows something else than the address that is probed."""

    @contextmanager
    def befall(world: World) -> Iterator[Situation]:
        base_url = world.readback.base_url
        said = {k: base_url if v == "this" else v for k, v in fields.items()}
        body = json.dumps(said).encode()
        answer = Answer(status, "OK", {"Content-Type": "application/json"}, body)
        with relay(base_url, on_answer=lambda _: answer) as cabinet:
            url = f"http://{authority_of(cabinet)}"
            yield Situation(base_url, world.readback.api_key, cabinet=url)

    return befall
