"""The collection of misfortunes: a few of its rows.

`make misfortunes` runs all of it. Those that were once told wrongly run here, too.
"""

from collections import Counter

import pytest

from tests.probe.misfortunes import MISFORTUNES
from tests.probe.misfortunes.judging import Misfortune, Told
from tests.probe.misfortunes.running import attempt
from tests.probe.setups import Resources

ROWS = {
    "a key of another service: Groq",
    "Heroku: the application has crashed (H10)",
    "the proxy requires a login for a tunnel",
    "a gateway renames the model",
    "text is escaped for HTML",
    "the certificate is for another machine of the company",
    "one of two servers names another server program",
    # Of the strangers, those that were told wrongly at first.
    "the API's domain was sold, and redirects with a parameter",
    "a forwarded port of Codespaces is private",
    "Squid also gets requests for this machine, and denies them",
    "F5 rejects completions with a page and 200",
    "nginx takes no header as long as the key: 431",
    "ca.acme.goskope.com decrypts, and nothing trusts it",
}


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
