"""The kinds of traffic that a deployment receives.

Behind a balancer, one connection carries the keys and addresses of many clients, so it
rarely repeats a request. A person who tests a program opens a new connection and sends
one request.
"""

from collections.abc import Callable, Sequence
from random import Random

from bench.messages import Request, text_of

KEYS = 1_000

ONE_KEY = "one client"
MANY_CLIENTS = "1,000 clients"
ANY_TEXT = "1,000 clients, any text"
ANY_ADDRESS = "any text, every address new"
REQUEST_IDS = "any text, every request id new"
NEW_CONNECTIONS = "a new connection for each request"
# Enough that no server has seen an address or an id recently.
_MANY_REQUESTS = 30_000
_SHORTEST = 10
_LONGEST = 800


def one_key(keys: Sequence[str]) -> list[Request]:
    """Return the request that a client repeats on one connection."""
    return [_request(keys[0])]


def many_clients(keys: Sequence[str]) -> list[Request]:
    return [_request(key, number) for number, key in enumerate(keys)]


def any_text(keys: Sequence[str]) -> list[Request]:
    """Return requests with texts of 10 to 800 bytes, from clients with fixed addresses.

    A third of the texts have escapes: line breaks and quotes, or all Cyrillic letters.
    """
    return [_with_any_text(keys, number, number % KEYS) for number in range(4 * KEYS)]


def any_address(keys: Sequence[str]) -> list[Request]:
    """Return such requests from clients whose address changes with every request."""
    return [_with_any_text(keys, number, number) for number in range(_MANY_REQUESTS)]


def request_ids(keys: Sequence[str]) -> list[Request]:
    """Return such requests from behind an ingress that adds an id to each head."""
    random = Random(0)
    return [
        _with_any_text(keys, number, number % KEYS).with_request_id(
            f"{random.getrandbits(128):032x}"
        )
        for number in range(_MANY_REQUESTS)
    ]


def _with_any_text(keys: Sequence[str], number: int, client: int) -> Request:
    # 347 and the range have no common factor; successive texts differ a lot in length.
    size = _SHORTEST + number * 347 % (_LONGEST - _SHORTEST + 1)
    key = number % len(keys)
    request = _request(keys[key], client).with_content(text_of(size, key))
    # A program that escapes letters does so in all of its requests.
    return request.escaping() if key % 6 == 4 else request


def new_connections(keys: Sequence[str]) -> list[Request]:
    return [_request(keys[0]).closing()]


KINDS: dict[str, Callable[[Sequence[str]], list[Request]]] = {
    ANY_TEXT: any_text,
    ANY_ADDRESS: any_address,
    REQUEST_IDS: request_ids,
    MANY_CLIENTS: many_clients,
    ONE_KEY: one_key,
    NEW_CONNECTIONS: new_connections,
}
"""The requests that the connections send in turn, by kind of traffic."""


def address_of(number: int) -> str:
    """Return the address of one of the clients behind the balancer."""
    return f"198.18.{number // 250 % 256}.{number % 250 + 1}"


def _request(key: str, client: int = 0) -> Request:
    return Request(key).forwarded(address_of(client))
