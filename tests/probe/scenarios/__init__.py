"""The scenarios: the ways a connection can fail, each with a real broken server.

A scenario has a description, the id of the diagnosis that the probe must report, and a
context manager that sets it up. There is one module per topic. The pages
docs/probe-*.md say how each is tested.
"""

from tests.probe.scenarios.address import ADDRESS
from tests.probe.scenarios.between import BETWEEN
from tests.probe.scenarios.echo import ECHO
from tests.probe.scenarios.endpoint import ENDPOINT
from tests.probe.scenarios.http import HTTP
from tests.probe.scenarios.key import KEY
from tests.probe.scenarios.network import NETWORK
from tests.probe.scenarios.tls import TLS

SCENARIOS = ADDRESS + KEY + NETWORK + TLS + HTTP + ENDPOINT + ECHO + BETWEEN
