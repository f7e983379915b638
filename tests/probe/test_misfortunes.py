"""The collection of misfortunes: how reports are judged, and a few of its rows.

`make misfortunes` runs all of it. Those that were once told wrongly run here, too.
"""

from collections import Counter
from dataclasses import replace

import pytest

from tests.probe.misfortunes import MISFORTUNES
from tests.probe.misfortunes.judging import Misfortune, Told, judge
from tests.probe.misfortunes.running import attempt
from tests.probe.probing import probed
from tests.probe.setups import Resources, closed_port

ROWS = {
    "a key of another service: Groq",
    "Heroku: the application has crashed (H10)",
    "the proxy requires a login for a tunnel",
    "a gateway renames the model",
    "text is escaped for HTML",
    "the certificate is for another machine of the company",
    "one of two servers names another server program",
}
_CLOSED = Misfortune("a closed port", closed_port, ("nothing is listening",))


def test_every_misfortune_has_a_name_of_its_own() -> None:
    counts = Counter((one.kind, one.name) for one in MISFORTUNES)
    assert [one for one, count in counts.items() if count > 1] == []


@pytest.mark.parametrize(
    "misfortune",
    [one for one in MISFORTUNES if one.name in ROWS or one.kind == "reported"],
    ids=lambda one: one.name,
)
def test_a_misfortune_is_told_rightly(
    misfortune: Misfortune, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgment, _, text = attempt(misfortune, resources, monkeypatch.setenv)
    assert judgment.told == Told.RIGHTLY, f"{judgment.why}\n{text}"


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        (_CLOSED, Told.RIGHTLY),
        (replace(_CLOSED, says=("nothing is listening", "proxy")), Told.PARTLY),
        (replace(_CLOSED, shows=("no such words",)), Told.PARTLY),
        (replace(_CLOSED, by="you"), Told.WRONGLY),
        (replace(_CLOSED, by=""), Told.WRONGLY),
        (replace(_CLOSED, never=("refused the connection",)), Told.WRONGLY),
    ],
)
def test_a_report_is_compared_with_what_it_must_say(
    expected: Misfortune, told: Told, resources: Resources
) -> None:
    with closed_port(resources) as probe_input:
        report = probed(probe_input)
    assert judge(expected, report).told == told
