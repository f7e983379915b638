"""Reads a certificate's names, issuer and dates, even if it is not trusted.

The ssl module decodes only certificates that it has verified, but the probe has to
explain those that fail. This module parses the part of DER (ITU-T X.690) and X.509
(RFC 5280) that it needs. An unreadable certificate is shown as "?".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address

from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Fact

_COMMON_NAME = bytes.fromhex("550403")
_ORGANIZATION = bytes.fromhex("55040a")
_ALTERNATIVE_NAMES = bytes.fromhex("551d11")
_AUTHORITY_INFORMATION = bytes.fromhex("2b06010505070101")
_WHERE_ISSUER_IS = bytes.fromhex("2b06010505073002")
_POLICIES = bytes.fromhex("551d20")
# The policies that the CA/Browser Forum prescribes for public authorities: 2.23.140.1.
_PUBLIC_POLICY = bytes.fromhex("67810c01")
_CERTIFICATE_TRANSPARENCY = bytes.fromhex("2b06010401d679020402")
_OBJECT_ID = 0x06
_UTC_TIME = 0x17
_OCTETS = 0x04
_VERSION = 0xA0
_EXTENSIONS = 0xA3
# Names that are strings (RFC 5280 §4.2.1.6): an e-mail address, a host or a URI.
_TEXT_NAMES = (0x81, 0x82, 0x86)
_IP_ADDRESS = 0x87

_SOON = timedelta(days=14)

# Issuer names used by common TLS-inspecting products.
_INTERCEPTORS = re.compile(
    r"zscaler|netskope|goskope|securly|lightspeed|menlo security|fortinet|fortigate"
    r"|blue ?coat|symantec web|palo alto|forcepoint|cato networks"
    r"|websense|sophos|sonicwall|watchguard|check ?point|cisco umbrella|mcafee web"
    r"|skyhigh|iboss|barracuda|kaspersky|eset ssl|avast|avg web|bitdefender|adguard"
    r"|mitmproxy|fiddler|charles proxy|portswigger|squid|cloudflare for teams"
    r"|gateway ca|ssl inspection|tls inspection|ssl proxy|web proxy|decrypt",
    re.IGNORECASE,
)
# Issuer names of public authorities; Let's Encrypt and Google number theirs.
_PUBLIC_ISSUERS = re.compile(
    r"^(R|E|YR|YE|WR|WE)\d{1,2}(,|$)|let's encrypt|sectigo|digicert|globalsign|godaddy"
    r"|comodo|zerossl|geotrust|rapidssl|thawte|certum|buypass|ssl\.com|amazon rsa",
    re.IGNORECASE,
)
# Programs with which developers issue their own certificates.
_FOR_DEVELOPMENT = re.compile(r"\bmkcert\b|caddy local|minikube|step ca demo", re.I)
# Names in the built-in certificates that gateways present for unknown hosts.
_BUILT_IN = re.compile(
    r"kubernetes ingress controller fake|traefik default cert|plesk|localdomain",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Certificate:
    subject: str
    """The names that the certificate is valid for, or its common name."""
    issuer: str
    since: datetime | None
    until: datetime | None
    name: str = ""
    serial: str = ""
    has_names: bool = True
    """Whether it has alternative names (not only a common name)."""
    raw_name: bytes = b""
    raw_issuer: bytes = b""
    has_issuer_address: bool = False
    """Whether it says where to find its issuer's certificate."""
    is_public: bool = False
    """Whether it has the policies or timestamps that public authorities must add."""

    @property
    def is_interception(self) -> bool:
        return bool(_INTERCEPTORS.search(self.issuer))

    @property
    def is_for_development(self) -> bool:
        return bool(_FOR_DEVELOPMENT.search(self.issuer))

    @property
    def names_issuer(self) -> bool:
        """Whether it tells that its issuer is an authority with a certificate."""
        is_known = _PUBLIC_ISSUERS.search(self.issuer)
        return bool(self.is_public or self.has_issuer_address or is_known)

    @property
    def is_built_in(self) -> bool:
        return bool(_BUILT_IN.search(self.name))

    @property
    def expires_soon(self) -> bool:
        """Whether less than 14 days (or a fifth of the lifetime, if shorter) remain."""
        if self.since is None or self.until is None:
            return False
        soon = min(_SOON, (self.until - self.since) / 5)
        return self.until - datetime.now(timezone.utc) < soon

    @property
    def facts(self) -> dict[str, Fact]:
        return {
            "subject": self.subject,
            "issuer": self.issuer,
            "since": f"{self.since:%Y-%m-%d}" if self.since else "?",
            "until": f"{self.until:%Y-%m-%d}" if self.until else "?",
        }

    def is_valid_at(self, moment: datetime) -> bool:
        if self.since is None or self.until is None:
            return True
        return self.since <= moment <= self.until


UNREADABLE = Certificate("?", "?", None, None)


def read(der: bytes) -> Certificate:
    try:
        return _read(der)
    except (IndexError, ValueError, StopIteration):
        return UNREADABLE


def read_chain(chain: list[bytes]) -> list[Certificate]:
    return list(map(read, chain)) or [UNREADABLE]


def _read(der: bytes) -> Certificate:
    # RFC 5280 §4.1: TBSCertificate is [version] serial signature issuer validity
    # subject key … [extensions], each encoded as a separate value.
    certificate = next(_values(der))[1]
    fields = list(_values(next(_values(certificate))[1]))
    if fields[0][0] == _VERSION:
        del fields[0]
    issuer, validity, subject = (content for _, content in fields[2:5])
    since, until = (_moment(tag, content) for tag, content in _values(validity))
    sequences = b"".join(content for tag, content in fields if tag == _EXTENSIONS)
    parts = [dict(_values(content)) for _, content in _nested(sequences)]
    extensions = {
        extension.get(_OBJECT_ID): extension.get(_OCTETS, b"") for extension in parts
    }
    names = _nested(extensions.get(_ALTERNATIVE_NAMES, b""))
    hosts = [shown for tag, value in names if (shown := _shown(tag, value))]
    name = sanitize(_name(subject))
    return Certificate(
        subject=sanitize(", ".join(hosts)) or name,
        issuer=sanitize(_name(issuer)),
        since=since,
        until=until,
        name=name,
        serial=fields[0][1].hex().lstrip("0")[:16],
        has_names=bool(hosts),
        raw_name=subject,
        raw_issuer=issuer,
        has_issuer_address=_WHERE_ISSUER_IS
        in extensions.get(_AUTHORITY_INFORMATION, b""),
        is_public=_CERTIFICATE_TRANSPARENCY in extensions
        or _PUBLIC_POLICY in extensions.get(_POLICIES, b""),
    )


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(der):
        tag = der[at]
        length = der[at + 1]
        start = at + 2
        if length & 0x80:  # Long form: the low bits give the number of length bytes.
            start += length & 0x7F
            length = int.from_bytes(der[at + 2 : start], "big")
        at = start + length
        yield tag, der[start:at]


def _nested(der: bytes) -> Iterator[tuple[int, bytes]]:
    for _, sequence in _values(der):
        yield from _values(sequence)


def _name(sequence: bytes) -> str:
    parts = {}
    for _, pair in _nested(sequence):
        (_, attribute), (_, value) = _values(pair)
        parts[attribute] = value.decode("utf-8", "replace")
    known = [parts.get(_COMMON_NAME), parts.get(_ORGANIZATION)]
    return ", ".join(dict.fromkeys(part for part in known if part)) or "?"


def _shown(tag: int, value: bytes) -> str:
    """Return a name as people write it, or "" for a type that is not shown."""
    if tag in _TEXT_NAMES:
        return value.decode("ascii", "replace")
    is_address = tag == _IP_ADDRESS and len(value) in (4, 16)
    return str(ip_address(value)) if is_address else ""


def _moment(tag: int, content: bytes) -> datetime:
    text = content.decode("ascii")
    # RFC 5280 §4.1.2.5.1: a two-digit year below 50 means 20xx.
    if tag == _UTC_TIME:
        text = ("20" if text < "50" else "19") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc)
