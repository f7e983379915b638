"""The security log: one line of JSON for each event relevant to security.

A line contains ids, of the account and the key, and the client's network address.
It never contains an e-mail address, a label, a password, a link or a key: what people
type into the wrong field must not end up here.
"""

import json
import logging
import sys

from allauth.core import context
from django.http import HttpRequest
from django.utils import timezone

from readback.cabinet.serving import visitors

_log = logging.getLogger("readback.security")


def record(
    event: str,
    *,
    account: int | None,
    key: int | None = None,
    invitation: int | None = None,
) -> None:
    """Write one line; the actor and the network address come from the request."""
    request: HttpRequest | None = context.request
    # The account that is logged in; none is in a command.
    actor = getattr(request, "user", None)
    line = {
        "time": timezone.now().isoformat(timespec="milliseconds"),
        "event": event,
        "account": account,
        "key": key,
        "by": actor.pk if actor is not None else None,
        "ip": visitors.client_address(request) if request else None,
    }
    if invitation is not None:
        line["invitation"] = invitation
    # JSON escapes line breaks, so no value can forge a second line.
    _log.info(json.dumps(line))


def write_to_stderr() -> None:
    """Enable the log; only a server does, so that commands write no log lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    _log.addHandler(handler)
