"""The host and port of an address, and whether a computer can have that name."""

from __future__ import annotations

import re

from readback.probe.common.results import ProbeError
from readback.probe.entered.base_url import is_ip_address
from readback.probe.entered.characters import script_of

_MAX_LENGTH = 253
_HOST_NAME = re.compile(
    rf"(?=.{{1,{_MAX_LENGTH}}}$)[a-z0-9_-]{{1,63}}(\.[a-z0-9_-]{{1,63}})*"
)
_IP_LITERAL = re.compile(r"[0-9a-f:.]+(%[\w.-]+)?", re.ASCII)
_HOST_AND_PORT = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::([^:]*))?", re.DOTALL)
_TWO_PORTS = re.compile(r"[^:]*:\d+:\d+")
_IPV6 = re.compile("[0-9a-f:.]+", re.IGNORECASE)
# Scripts that have letters in common with Latin. Names in other scripts often contain
# Latin letters.
_SCRIPTS_LIKE_LATIN = frozenset(("Cyrillic", "Greek", "Armenian", "Cherokee"))


def split_authority(authority: str) -> tuple[str, int | None]:
    """Return host and port; raise `ProbeError` if they cannot be told apart."""
    match = _HOST_AND_PORT.fullmatch(authority)
    if match is None:
        raise ProbeError(_many_colons_id(authority))
    literal, name, port = match.groups()
    if literal is not None and not (":" in literal and is_ip_address(literal)):
        raise ProbeError("address.host")
    if not port:
        return literal or name, None
    if not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 65536:
        raise ProbeError("address.port")
    return literal or name, int(port)


def _many_colons_id(authority: str) -> str:
    if _TWO_PORTS.fullmatch(authority):
        return "address.two_ports"
    return "address.ipv6" if _IPV6.fullmatch(authority) else "address.host"


def ascii_host(host: str) -> str:
    """Return the host in its IDNA form; raise `ProbeError` if it is not valid."""
    # The codec takes quadratic time, so it must not see a long text.
    if len(host) > _MAX_LENGTH:
        raise ProbeError("address.host")
    try:
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise ProbeError("address.host") from None
    name = name.lower().replace("%25", "%").rstrip(".")
    if is_ip_address(name):
        if not _IP_LITERAL.fullmatch(name):
            raise ProbeError("address.host")
        return name
    # A name that ends with a number would be taken for an IPv4 address.
    if not _HOST_NAME.fullmatch(name) or name.rpartition(".")[2].isdigit():
        raise ProbeError("address.host")
    return name


def mixed_letter(host: str) -> str:
    """Return a letter of another script in a label that has Latin letters, too."""
    for label in host.split("."):
        if re.search("[a-z]", label, re.IGNORECASE):
            for letter in label:
                if script_of(letter) in _SCRIPTS_LIKE_LATIN:
                    return letter
    return ""
