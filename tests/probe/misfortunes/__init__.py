"""The collection of misfortunes: what can happen to a connection, and what to say then.

Each row has real servers that make it happen, and the words that the report must and
must not contain. `make misfortunes` runs all of them, and the scenarios of the tests
as well, and prints the share that is told rightly. A misfortune may be told by any
diagnosis that says the right thing; a scenario has exactly one.
"""

import re

from tests.probe.misfortunes.answers import ANSWERS
from tests.probe.misfortunes.arranging import kind_of
from tests.probe.misfortunes.certificates import CERTIFICATES
from tests.probe.misfortunes.clouds import CLOUDS
from tests.probe.misfortunes.entered import ENTERED
from tests.probe.misfortunes.environment import ENVIRONMENT
from tests.probe.misfortunes.gateways import GATEWAYS
from tests.probe.misfortunes.intermittent import INTERMITTENT
from tests.probe.misfortunes.judging import BLAME, Misfortune
from tests.probe.misfortunes.network import NETWORK
from tests.probe.misfortunes.proxies import PROXIES
from tests.probe.misfortunes.reported import REPORTED
from tests.probe.misfortunes.requests import REQUESTS
from tests.probe.misfortunes.services import SERVICES
from tests.probe.misfortunes.sites import SITES
from tests.probe.misfortunes.slowness import SLOWNESS
from tests.probe.misfortunes.strangers import STRANGERS
from tests.probe.misfortunes.texts import TEXTS
from tests.probe.scenarios import SCENARIOS

_SCENARIOS = kind_of(
    "scenarios",
    *(
        Misfortune(
            one.description,
            one.arrange,
            (rf"\A{re.escape(one.id)}\n",),
            "you network operator",
            blame=" ".join(BLAME),
        )
        for one in SCENARIOS
    ),
)

MISFORTUNES = (
    _SCENARIOS
    + ENTERED
    + ENVIRONMENT
    + NETWORK
    + PROXIES
    + CERTIFICATES
    + SLOWNESS
    + CLOUDS
    + GATEWAYS
    + SERVICES
    + SITES
    + REQUESTS
    + ANSWERS
    + TEXTS
    + INTERMITTENT
    + REPORTED
    + STRANGERS
)
