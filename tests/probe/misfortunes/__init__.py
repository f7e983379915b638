"""The collection of misfortunes: what can happen to a connection, and what to say then.

Each row has real servers that make it happen, and the words that the report must and
must not contain. `make misfortunes` runs all of them, and the scenarios of the tests
as well, and prints the share that is told rightly. A misfortune may be told by any
diagnosis that says the right thing; a scenario has exactly one.
"""

import re

from tests.probe.misfortunes.arranging import kind_of
from tests.probe.misfortunes.intermittent import INTERMITTENT
from tests.probe.misfortunes.judging import BLAME, Misfortune
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

MISFORTUNES = _SCENARIOS + INTERMITTENT
