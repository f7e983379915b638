"""The collection of misfortunes: connection problems, and what to report about each.

Each row starts real servers that cause the problem and lists the words that the report
must or must not contain. `make misfortunes` runs all rows and prints the share that is
diagnosed correctly. Any diagnosis that says the right thing is accepted, unless the row
names an id.
"""

from tests.probe.misfortunes.answers import ANSWERS
from tests.probe.misfortunes.certificates import CERTIFICATES
from tests.probe.misfortunes.clouds import CLOUDS
from tests.probe.misfortunes.entered import ENTERED
from tests.probe.misfortunes.environment import ENVIRONMENT
from tests.probe.misfortunes.gateways import GATEWAYS
from tests.probe.misfortunes.intermittent import INTERMITTENT
from tests.probe.misfortunes.network import NETWORK
from tests.probe.misfortunes.proxies import PROXIES
from tests.probe.misfortunes.reported import REPORTED
from tests.probe.misfortunes.requests import REQUESTS
from tests.probe.misfortunes.services import SERVICES
from tests.probe.misfortunes.sites import SITES
from tests.probe.misfortunes.slowness import SLOWNESS
from tests.probe.misfortunes.strangers import STRANGERS
from tests.probe.misfortunes.texts import TEXTS

MISFORTUNES = (
    ENTERED
    + ENVIRONMENT
    + NETWORK
    + PROXIES
    + CERTIFICATES
    + CLOUDS
    + GATEWAYS
    + SERVICES
    + SITES
    + REQUESTS
    + ANSWERS
    + TEXTS
    + SLOWNESS
    + INTERMITTENT
    + REPORTED
    + STRANGERS
)
