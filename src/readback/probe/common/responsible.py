"""Who has to act: derived from the kind of fault and from the path to the service.

Over https with a certificate from a public authority, TLS ends at the service's
operator: nothing in between can remove a header, change a text or delay a response.
Over plain http, anything in between can, and a proxy forwards each request itself. A
private authority may belong to a proxy or to the service, so the report names both. A
proxy can always break a connection.
"""

from __future__ import annotations

from enum import Enum

from readback.probe.common.results import Fault, Fixer


class Authority(Enum):
    """Who issued the certificate that this machine trusts."""

    NONE = "no certificate has been trusted"
    PUBLIC = "a public authority"
    SERVICE = "the service itself, or a program for development"
    OWN = "the authority of --cacert, or of a private network"
    PRIVATE = "a private authority, for a host on the Internet"
    INTERCEPTOR = "a product that decrypts traffic"


class Path(Enum):
    PROXY = "a proxy that forwards the requests"
    TUNNEL = "TLS ends at the operator, and a proxy passes it on"
    INTERCEPTED = "something decrypts the traffic"
    VERIFIED = "TLS ends at the operator of the service"
    THIS_MACHINE = "the service is on this machine"
    OPEN = "others on the path may read and change the requests"


# The path without a proxy, and the path with one.
_PATHS: dict[Authority, tuple[Path, Path]] = {
    Authority.NONE: (Path.OPEN, Path.PROXY),
    Authority.PUBLIC: (Path.VERIFIED, Path.TUNNEL),
    Authority.SERVICE: (Path.VERIFIED, Path.TUNNEL),
    Authority.OWN: (Path.VERIFIED, Path.OPEN),
    Authority.PRIVATE: (Path.OPEN, Path.OPEN),
    Authority.INTERCEPTOR: (Path.INTERCEPTED, Path.INTERCEPTED),
}
_PROXY = Fixer.PROXY
_DECRYPTS = Fixer.INTERCEPTION
_NETWORK = Fixer.NETWORK
_OPERATOR = Fixer.OPERATOR
_EITHER = Fixer.EITHER
# Who connects to a service on the same machine often runs it.
_HERE = Fixer.SHARED
_TABLE: dict[Fault, tuple[Fixer, ...]] = {
    Fault.NONE: (Fixer.NOBODY,) * len(Path),
    Fault.SETTING: (Fixer.YOU,) * len(Path),
    Fault.NETWORK: (Fixer.NETWORK,) * len(Path),
    Fault.PROXY: (Fixer.PROXY,) * len(Path),
    Fault.BEYOND: (Fixer.ANYONE,) * len(Path),
    Fault.PROBE: (Fixer.AUTHORS,) * len(Path),
    Fault.SHARED: (Fixer.SHARED,) * len(Path),
    # One column for each member of `Path`, in that order.
    Fault.SERVICE: (*(_OPERATOR,) * 4, _HERE, _OPERATOR),
    Fault.CONNECTION: (_PROXY, _PROXY, _EITHER, _EITHER, _HERE, _EITHER),
    Fault.CERTIFICATE: (_PROXY, _OPERATOR, _DECRYPTS, _OPERATOR, _HERE, _EITHER),
    Fault.FILTER: (_PROXY, _OPERATOR, _DECRYPTS, _OPERATOR, _NETWORK, _NETWORK),
    Fault.PATH: (_PROXY, _OPERATOR, _DECRYPTS, _OPERATOR, _HERE, _EITHER),
}


def path_to(authority: Authority, *, has_proxy: bool, is_here: bool) -> Path:
    path = _PATHS[authority][has_proxy]
    return Path.THIS_MACHINE if is_here and path is Path.OPEN else path


def who_acts(fault: Fault, path: Path) -> Fixer:
    return _TABLE[fault][list(Path).index(path)]
