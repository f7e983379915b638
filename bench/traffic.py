"""The kinds of traffic that a deployment receives.

A client that repeats its own request hardly exists behind a balancer, where one
connection carries the keys and addresses of many clients. A person who tests a
connection sends one request on a new one.
"""

from collections.abc import Callable, Sequence

from bench.messages import Request

KEYS = 1_000

ONE_KEY = "one key"
MANY_KEYS = "1,000 keys"
MANY_CLIENTS = "1,000 keys, each with its address"
NEW_CONNECTIONS = "a new connection for each request"


def one_key(keys: Sequence[str]) -> list[Request]:
    """Return what a client repeats on a kept connection."""
    return [_request(keys[0])]


def many_keys(keys: Sequence[str]) -> list[Request]:
    return [_request(key) for key in keys]


def many_clients(keys: Sequence[str]) -> list[Request]:
    return [_request(key, number) for number, key in enumerate(keys)]


def new_connections(keys: Sequence[str]) -> list[Request]:
    return [_request(keys[0]).closing()]


KINDS: dict[str, Callable[[Sequence[str]], list[Request]]] = {
    ONE_KEY: one_key,
    MANY_KEYS: many_keys,
    MANY_CLIENTS: many_clients,
    NEW_CONNECTIONS: new_connections,
}
"""What the connections send in turn, by kind."""


def address_of(number: int) -> str:
    """Return the address of one of the clients behind the balancer."""
    return f"198.18.{number // 250}.{number % 250 + 1}"


def _request(key: str, client: int = 0) -> Request:
    return Request(key).forwarded(address_of(client))
