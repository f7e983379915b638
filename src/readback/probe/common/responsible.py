"""Who has to act: derived from the kind of fault and from the path to the service.

TLS ends at the operator of the service: over https with a certificate that is trusted,
nothing in between can remove a header, change a text or hold back an answer, unless
something decrypts the traffic. Over plain http, everything in between can.
"""

from __future__ import annotations

from enum import Enum

from readback.probe.common.results import Fault, Fixer


class Path(Enum):
    PROXY = "a proxy that can read the requests"
    INTERCEPTED = "something decrypts the traffic"
    VERIFIED = "TLS ends at the operator of the service"
    THIS_MACHINE = "the service is on this machine"
    OPEN = "others on the path may read and change the requests"


_PROXY = Fixer.PROXY
_DECRYPTS = Fixer.INTERCEPTION
_NETWORK = Fixer.NETWORK
_OPERATOR = Fixer.OPERATOR
_EITHER = Fixer.EITHER
_TABLE: dict[Fault, tuple[Fixer, ...]] = {
    Fault.NONE: (Fixer.NOBODY,) * len(Path),
    Fault.SETTING: (Fixer.YOU,) * len(Path),
    Fault.NETWORK: (Fixer.NETWORK,) * len(Path),
    Fault.PROXY: (Fixer.PROXY,) * len(Path),
    Fault.SERVICE: (Fixer.OPERATOR,) * len(Path),
    Fault.PROBE: (Fixer.AUTHORS,) * len(Path),
    # One column for each path, in their order.
    Fault.CONNECTION: (_PROXY, _EITHER, _EITHER, _OPERATOR, _EITHER),
    Fault.CERTIFICATE: (_PROXY, _DECRYPTS, _OPERATOR, _OPERATOR, _OPERATOR),
    Fault.FILTER: (_PROXY, _DECRYPTS, _OPERATOR, _NETWORK, _NETWORK),
    Fault.PATH: (_PROXY, _DECRYPTS, _OPERATOR, _OPERATOR, _EITHER),
}


def who_acts(fault: Fault, path: Path) -> Fixer:
    return _TABLE[fault][list(Path).index(path)]
