"""The predicted proxy is the one that the real program was seen to use."""

from dataclasses import replace

import pytest

from readback.probe.clients.comparison import PROGRAMS
from readback.probe.clients.proxies import ProxyChoice
from readback.probe.clients.settings import Machine
from readback.probe.entered.base_url import BaseUrl, split
from tests.probe.clients.machines import machine
from tests.probe.clients.observed import COLUMNS, OBSERVED

LETTERS = {
    "127.0.0.1:3101": "A",
    "127.0.0.1:3102": "B",
    "127.0.0.1:1080": "S",
    # Proxies without a port: the default port is where the lab's origin listens.
    "127.0.0.1:80": "D",
}


def target(url: str) -> BaseUrl:
    return replace(split(url), path="/v1")


def letter(choice: ProxyChoice) -> str:
    if choice.problem or choice.note:  # The packages for SOCKS are not installed.
        return "F"
    return LETTERS[choice.server] if choice.server else "D"


def predicted(name: str, url: str, here: Machine) -> str:
    [program] = (one for one in PROGRAMS if one.name == name)
    return letter(program.proxy(target(url), here))


@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=COLUMNS)
def test_every_observed_choice_is_predicted(column: int) -> None:
    name = COLUMNS[column]
    wrong = []
    for url, variables, letters in OBSERVED:
        got = predicted(name, url, machine(variables))
        if letters[column] != got:
            wrong.append((url, variables, f"{got} instead of {letters[column]}"))
    assert not wrong
