"""The step "idle connection": a connection is left alone for some seconds, then used.

Firewalls, load balancers and address translation forget connections that are idle.
Programs that keep connections for later requests then wait in vain. A server that
closes an idle connection does nothing wrong: its clients notice and open a new one.
"""

from __future__ import annotations

import time

from readback.probe.common.formatting import format_duration
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.transport.client import ProbeClient, ProbeResponse
from readback.probe.transport.context import UNKNOWN, ProbeContext

_DEAD = {"http.silent": "between.idle_dead", "http.cut": "between.idle_reset"}


def check(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    if not context.idle_seconds:
        return []
    id = _use_after_pause(context)
    if id == "between.idle_reset":
        # The service may have closed the connection in the moment of the request.
        id = _use_after_pause(context)
    return diagnose(id, seconds=format_duration(context.idle_seconds))


def _use_after_pause(context: ProbeContext) -> str:
    with context.new_client() as client:
        _request(context, client)
        time.sleep(context.idle_seconds)
        try:
            second = _request(context, client)
        except ProbeError as error:
            return _lost(context, error)
    is_kept = second.timing.connect is None
    return "between.idle_ok" if is_kept else "between.idle_closed"


def _request(context: ProbeContext, client: ProbeClient) -> ProbeResponse:
    return client.request("GET", f"{context.base_url.path}{UNKNOWN}")


def _lost(context: ProbeContext, error: ProbeError) -> str:
    """Return the id of the finding if a new connection works at the same moment."""
    if error.id not in _DEAD:
        raise error
    with context.new_client() as client:
        _request(context, client)
    return _DEAD[error.id]
