"""Reads the names, issuer and dates of a certificate that is not trusted.

The ssl module decodes only certificates that it has verified, but the probe has to
explain those that fail. This module therefore parses the small part of DER (ITU-T
X.690) and X.509 (RFC 5280) that it needs. Unreadable parts are left out; nothing read
here is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

from readback.probe.formatting import sanitize

_COMMON_NAME = bytes.fromhex("550403")
_ORGANIZATION = bytes.fromhex("55040a")
_ALTERNATIVE_NAMES = bytes.fromhex("551d11")
_OBJECT_ID, _UTC_TIME, _OCTETS = 0x06, 0x17, 0x04
_VERSION, _EXTENSIONS = 0xA0, 0xA3
_DNS_NAME = 0x82

# Issuer names used by common TLS-inspecting products.
_INTERCEPTORS = re.compile(
    r"zscaler|netskope|fortinet|fortigate|blue ?coat|symantec web|palo alto|forcepoint"
    r"|websense|sophos|sonicwall|watchguard|check ?point|cisco umbrella|mcafee web"
    r"|skyhigh|iboss|barracuda|kaspersky|eset ssl|avast|avg web|bitdefender|adguard"
    r"|mitmproxy|fiddler|charles proxy|portswigger|squid|cloudflare for teams"
    r"|gateway ca|ssl inspection|tls inspection|ssl proxy|web proxy|decrypt",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Certificate:
    subject: str
    """The names it is valid for, or its common name."""
    issuer: str
    since: datetime | None
    until: datetime | None

    @property
    def is_interception(self) -> bool:
        return bool(_INTERCEPTORS.search(self.issuer))

    @property
    def days_left(self) -> int | None:
        return (self.until - datetime.now(timezone.utc)).days if self.until else None


UNREADABLE = Certificate("an unknown name", "an unknown issuer", None, None)


def read(der: bytes) -> Certificate:
    try:
        return _read(der)
    except (IndexError, ValueError, StopIteration):
        return UNREADABLE


def _read(der: bytes) -> Certificate:
    # RFC 5280 §4.1: TBSCertificate is [version] serial signature issuer validity
    # subject key … [extensions], each encoded as a separate value.
    certificate = next(_values(der))[1]
    fields = list(_values(next(_values(certificate))[1]))
    if fields[0][0] == _VERSION:
        del fields[0]
    issuer, validity, subject = (content for _, content in fields[2:5])
    since, until = (_moment(tag, content) for tag, content in _values(validity))
    extensions = b"".join(content for tag, content in fields if tag == _EXTENSIONS)
    names = _alternative_names(extensions) or [_name(subject)]
    return Certificate(
        sanitize(", ".join(names)), sanitize(_name(issuer)), since, until
    )


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the tag and content of each value in a sequence."""
    while der:
        tag, length, start = der[0], der[1], 2
        if length & 0x80:  # Long form: the low bits count the length bytes.
            start += length & 0x7F
            length = int.from_bytes(der[2:start], "big")
        yield tag, der[start : start + length]
        der = der[start + length :]


def _name(sequence: bytes) -> str:
    """Return the common name and organization of a distinguished name."""
    parts = {}
    for _, group in _values(sequence):
        for _, pair in _values(group):
            (_, kind), (_, value) = _values(pair)
            parts[kind] = value.decode("utf-8", "replace")
    known = [parts.get(_COMMON_NAME), parts.get(_ORGANIZATION)]
    return ", ".join(dict.fromkeys(part for part in known if part)) or "(no name)"


def _alternative_names(extensions: bytes) -> list[str]:
    for _, sequence in _values(extensions):
        for _, extension in _values(sequence):
            inside = dict(_values(extension))
            if inside.get(_OBJECT_ID) == _ALTERNATIVE_NAMES:
                names = next(_values(inside[_OCTETS]))[1]
                return [_host(tag, value) for tag, value in _values(names)]
    return []


def _host(tag: int, value: bytes) -> str:
    if tag == _DNS_NAME:
        return value.decode("ascii", "replace")
    return ".".join(map(str, value)) if len(value) == 4 else value.hex(":", 2)


def _moment(tag: int, content: bytes) -> datetime:
    text = content.decode("ascii")
    # RFC 5280 §4.1.2.5.1: a two-digit year below 50 means 20xx.
    if tag == _UTC_TIME:
        text = ("20" if text < "50" else "19") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc)
