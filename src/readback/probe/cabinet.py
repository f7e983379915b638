"""The step "cabinet": is this the address that the cabinet shows?"""

from http import HTTPStatus
from urllib.parse import urlsplit

from readback.probe import address as addresses
from readback.probe import proxies
from readback.probe.address import Address
from readback.probe.calls import Answer
from readback.probe.diagnoses import found
from readback.probe.findings import Finding, Trouble
from readback.probe.recognition import json_in
from readback.probe.scene import Scene
from readback.probe.wording import foreign

_HELP_PAGE = "/docs/errors"


def check(scene: Scene) -> Finding:
    cabinet = scene.cabinet_url or _named_by(scene.help_link)
    if not cabinet:
        return found("cabinet.unknown")
    said = _address_json(scene, cabinet.rstrip("/"))
    current = _read(said.get("base_url"))
    if current == str(scene.address):
        return found("cabinet.same", cabinet=foreign(cabinet))
    facts = {"current": foreign(current), "since": foreign(str(said.get("since")))}
    moved = _read(said.get("previous")) == str(scene.address)
    return found("cabinet.moved" if moved else "cabinet.differs", **facts)


def _named_by(help_link: str) -> str:
    """Find the cabinet by the page of errors that a refusal links to."""
    page = help_link.partition("#")[0]
    if urlsplit(page).scheme not in ("http", "https"):
        return ""
    return page.removesuffix(_HELP_PAGE) if page.endswith(_HELP_PAGE) else ""


def _address_json(scene: Scene, cabinet: str) -> dict[str, object]:
    try:
        answer = _ask(scene, f"{cabinet}/address.json")
    except Trouble as trouble:
        if trouble.id == "skipped.budget":
            raise
        raise _unreachable(cabinet, "it cannot be reached") from None
    said = json_in(answer.body)
    if answer.status != HTTPStatus.OK or not isinstance(said, dict):
        raise _unreachable(cabinet, f"it answers {answer.status}")
    return said


def _ask(scene: Scene, url: str) -> Answer:
    """Ask without the key, by the way that the environment has for that host."""
    parts = addresses.split(url)
    port = parts.port or addresses.PORTS[parts.scheme]
    origin = Address(parts.scheme, parts.hostname or "", port, parts.path)
    _, route = proxies.check(origin)
    with scene.new_caller(route) as caller:
        return caller.ask("GET", str(origin))


def _unreachable(cabinet: str, reason: str) -> Trouble:
    return Trouble("cabinet.unreachable", cabinet=foreign(cabinet), reason=reason)


def _read(url: object) -> str:
    """Write an address in the one form in which two can be compared."""
    try:
        return str(addresses.read(str(url or ""))[0])
    except Trouble:
        return str(url)
