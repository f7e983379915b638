"""The step "idle connection": a connection is left alone for some seconds, then used.

Firewalls, load balancers and address translation forget connections that are idle.
Programs that keep connections for later requests then wait in vain. A server that
closes an idle connection does nothing wrong: its clients notice and open a new one.
"""

from __future__ import annotations

import time

from readback.probe.client import ProbeClient, ProbeResponse
from readback.probe.context import UNKNOWN, ProbeContext
from readback.probe.diagnoses import diagnose
from readback.probe.formatting import format_duration
from readback.probe.results import Diagnosis, ProbeError

_DEAD = {"http.silent": "between.idle_dead", "http.cut": "between.idle_reset"}
# An answer that takes this many times as long as the first one is not coming.
_PATIENCE = 20
_MIN_SECONDS = 2.0


def check(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    if not context.idle_seconds:
        return []
    with context.new_client() as client:
        first = _request(context, client)
        time.sleep(context.idle_seconds)
        client.timeout = min(
            context.timeout, max(_MIN_SECONDS, _PATIENCE * first.timing.total)
        )
        try:
            second = _request(context, client)
        except ProbeError as error:
            return _lost(context, error)
    is_kept = second.timing.connect is None
    return _diagnose(context, "between.idle_ok" if is_kept else "between.idle_closed")


def _request(context: ProbeContext, client: ProbeClient) -> ProbeResponse:
    return client.request("GET", f"{context.base_url.path}{UNKNOWN}")


def _lost(context: ProbeContext, error: ProbeError) -> Diagnosis:
    """Return the diagnosis if a new connection works at the same moment."""
    if error.id not in _DEAD:
        raise error
    with context.new_client() as client:
        _request(context, client)
    return _diagnose(context, _DEAD[error.id])


def _diagnose(context: ProbeContext, id: str) -> Diagnosis:
    return diagnose(id, seconds=format_duration(context.idle_seconds))
