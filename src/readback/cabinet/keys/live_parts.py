"""Live parts of a page: fragments that the browser requests again and again.

Most polls find nothing new, and are answered before the session is read: a part comes
with a proof, which is the time, and a keyed hash of the rows that the part depends on.
While the rows still have this hash, the poll gets 204. Only the owner of a key gets a
proof. After PROOF_SECONDS at most, a poll takes the long way again: that is how long a
page that was logged out may go on polling.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import blake2s
from random import randrange
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import BigIntegerField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import get_language

from readback.cabinet.models import (
    JournalEntry,
    Key,
    NetworkKey,
    UnmatchedRequest,
    Usage,
)
from readback.cabinet.serving import visitors
from readback.client_address import network_digest
from readback.contract import UNMATCHED_SECONDS

PROOF_SECONDS = 120
# The length of `version_of`, which is in front of the proof.
VERSION_LENGTH = 16
_TIME_LENGTH = 8
_SALT = "readback.cabinet.live_parts"
# The names of the URLs of all parts, and whether each shows unmatched requests.
_PARTS = {"key_numbers": False, "key_arrived": True, "key_unmatched_part": True}

# One row by primary keys and the start or end of an index, whatever the tables hold.
# With `accepted` alone, neither database would find the newest row by the index.
_NEWEST = f"""(
    SELECT max(id) FROM {JournalEntry._meta.db_table}
    WHERE key_id = k.id AND accepted = %s
)"""
_KEY = f"""
SELECT {{network_key}}, k.last_used_at, {_NEWEST}, {_NEWEST}, (
    SELECT sum(requests) FROM {Usage._meta.db_table}
    WHERE key_id = k.id AND hour >= %s
) FROM {Key._meta.db_table} k WHERE k.id = %s
"""
_NETWORK_KEY = f"(SELECT key FROM {NetworkKey._meta.db_table} ORDER BY id LIMIT 1)"
_KEY_ALONE = _KEY.format(network_key="NULL")
_KEY_AND_NETWORK_KEY = _KEY.format(network_key=_NETWORK_KEY)
_UNMATCHED = f"""
SELECT min(id), max(id) FROM {UnmatchedRequest._meta.db_table}
WHERE network = %s AND at >= %s
"""


def respond(
    request: HttpRequest, template: str, read: Callable[[], dict[str, Any]]
) -> HttpResponse:
    """Return the part that `read` reads, or 204 if the browser has this version."""
    assert request.resolver_match
    # Otherwise pages that were opened together would take the long way together.
    at = int(time.time()) - randrange(PROOF_SECONDS // 2)
    # Before the part is read: the next poll finds a row that is written in between.
    proof = _proof(request, request.resolver_match, f"{at:08x}")
    context = read()
    version = context["version"]
    if request.GET.get("seen", "").startswith(version):
        response = HttpResponse(status=204)
    else:
        response = render(request, template, context)
    response["X-Version"] = version + proof
    return response


def version_of(*content: object) -> str:
    """Return a short hash that changes when the content of a part changes."""
    digest = blake2s(
        repr((get_language(), content)).encode(),
        digest_size=VERSION_LENGTH // 2,
    )
    return digest.hexdigest()


def unchanged(request: HttpRequest) -> HttpResponse | None:
    """Return the answer to a poll whose part has not changed; None for all others."""
    proof = request.GET.get("seen", "")[VERSION_LENGTH:]
    if not proof or request.method != "GET":
        return None
    at = proof[:_TIME_LENGTH]
    try:
        age = time.time() - int(at, 16)
        match = resolve(request.path_info)
    except (ValueError, Resolver404):  # anything can be in a URL
        return None
    if match.url_name not in _PARTS or not 0 <= age < PROOF_SECONDS:
        return None
    # Neither database takes a larger number.
    if match.kwargs["key_id"] > BigIntegerField.MAX_BIGINT:
        return None
    if not constant_time_compare(proof, _proof(request, match, at)):
        return None
    # For the count of pages; Django would set it later.
    request.resolver_match = match
    response = HttpResponse(status=204)
    add_never_cache_headers(response)
    return response


def _proof(request: HttpRequest, match: ResolverMatch, at: str) -> str:
    """Return the time, in hexadecimal, and the hash of the rows for the part."""
    shows_unmatched = _PARTS[str(match.url_name)] and settings.CONFIG.unmatched_requests
    address = visitors.client_address(request) if shows_unmatched else None
    rows = _rows(match.kwargs["key_id"], address)
    content = repr((request.path_info, at, rows))
    return at + salted_hmac(_SALT, content, algorithm="sha256").hexdigest()[:32]


def _rows(key_id: int, client_address: str | None) -> list[object]:
    """Return what changes with each request that a part can show.

    With an address, also what changes with the unmatched requests of its network.
    """
    now = timezone.now()
    # The charts begin anew with an hour. A count may be written after its hour.
    hour = now.replace(minute=0, second=0, microsecond=0)
    statement = _KEY_ALONE if client_address is None else _KEY_AND_NETWORK_KEY
    values = [True, False, _moment(hour - timedelta(hours=1)), key_id]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        # The row is missing if the account was deleted meanwhile.
        network_key, *rows = cursor.fetchone() or [None]
        if client_address and network_key:
            network = network_digest(client_address, bytes(network_key))
            start = _moment(now - timedelta(seconds=UNMATCHED_SECONDS))
            cursor.execute(_UNMATCHED, [network, start])
            rows += cursor.fetchone()
    return [hour, *rows]


def _moment(moment: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(moment)
