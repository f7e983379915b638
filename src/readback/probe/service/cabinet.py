"""The step "cabinet": whether the cabinet shows the address that is being tested."""

from __future__ import annotations

from http import HTTPStatus

from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.connection import proxies, stores
from readback.probe.diagnoses import diagnose
from readback.probe.entered import address, base_url
from readback.probe.entered.base_url import BaseUrl
from readback.probe.service.api_answers import parse_json
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.context import ProbeContext

_HELP_PAGE = "/docs/errors"


def check(context: ProbeContext) -> Diagnosis:
    cabinet = context.cabinet_url or _cabinet_url(context.help_link)
    if not cabinet:
        return diagnose("cabinet.unknown")
    shown = _address_json(context, cabinet.rstrip("/"))
    current = _normalize(shown.get("base_url"))
    if current == str(context.base_url):
        return diagnose("cabinet.same", cabinet=sanitize(cabinet))
    facts = {"current": sanitize(current), "since": sanitize(str(shown.get("since")))}
    moved = _normalize(shown.get("previous")) == str(context.base_url)
    return diagnose("cabinet.moved" if moved else "cabinet.differs", **facts)


def _cabinet_url(help_link: str) -> str:
    """Return the cabinet's URL, taken from the help link of a refusal, or ""."""
    page = help_link.partition("#")[0]
    if not page.startswith(("http://", "https://")):
        return ""
    return page.removesuffix(_HELP_PAGE) if page.endswith(_HELP_PAGE) else ""


def _address_json(context: ProbeContext, cabinet: str) -> dict[str, object]:
    try:
        response = _get(context, f"{cabinet}/address.json")
    except ProbeError as error:
        if error.id == "skipped.budget":
            raise
        raise _unreachable(cabinet, "it cannot be reached") from None
    content = parse_json(response.body)
    if response.status != HTTPStatus.OK or not isinstance(content, dict):
        raise _unreachable(cabinet, f"it responded with {response.status}")
    return content


def _get(context: ProbeContext, url: str) -> ProbeResponse:
    """Send the request without the key, through the proxy set for that host."""
    parts = base_url.split(url)
    port = parts.port or base_url.PORTS[parts.scheme]
    target = BaseUrl(parts.scheme, parts.hostname or "", port, parts.path)
    _, route = proxies.check(target)
    # The cabinet may use https even if the API does not.
    needs_trust = target.is_encrypted and context.trusted is None
    trusted = stores.together() if needs_trust else None
    with context.new_client(route, trusted=trusted) as client:
        context.cabinet = client.request("GET", target.path)
    context.cabinet_host = target.host
    return context.cabinet


def _unreachable(cabinet: str, reason: str) -> ProbeError:
    return ProbeError("cabinet.unreachable", cabinet=sanitize(cabinet), reason=reason)


def _normalize(url: object) -> str:
    """Return an address in the form in which two addresses can be compared."""
    try:
        return str(address.parse(str(url or ""))[0])
    except ProbeError:
        return str(url)
