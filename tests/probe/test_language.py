"""The language of the report: how it is chosen, and what is translated."""

import re
from collections.abc import Iterator

import pytest

from readback.probe.common import catalogue
from readback.probe.common.catalogue import diagnose, say
from tests.probe.test_command import run

NOWHERE = "http://127.0.0.1:1/v1"


@pytest.fixture(autouse=True)
def _english_afterwards() -> Iterator[None]:
    yield
    catalogue.use("en")


@pytest.mark.parametrize(
    ("arguments", "variables", "code"),
    [
        ([], {}, "en"),
        ([], {"LANG": "ru_RU.UTF-8"}, "ru"),
        ([], {"LANG": "ru_RU.UTF-8", "LC_ALL": "C"}, "en"),
        ([], {"LANG": "C", "LC_MESSAGES": "ru"}, "ru"),
        ([], {"LANG": "de_DE.UTF-8"}, "en"),
        (["--language", "ru"], {}, "ru"),
        (["--language=en"], {"LANG": "ru_RU"}, "en"),
        (["--json"], {"LANG": "ru_RU"}, "en"),
        (["--json", "--language", "ru"], {}, "en"),
    ],
)
def test_the_language_is_that_of_the_option_or_of_the_terminal(
    arguments: list[str], variables: dict[str, str], code: str
) -> None:
    assert catalogue.wanted(arguments, variables) == code


@pytest.mark.parametrize("form", [[], ["--verbose"]])
def test_a_report_in_russian(form: list[str]) -> None:
    done = run(NOWHERE, *form, more={"LC_ALL": "ru_RU.UTF-8"}, key="")
    assert "Не работает на шаге «TCP»: " in done.stdout
    assert "Кто может исправить: " in done.stdout
    assert "tcp." in done.stdout


def test_help_is_in_the_language_of_the_terminal() -> None:
    shown = run("--help", more={"LANG": "ru_RU.UTF-8"}).stdout
    assert "Адрес API." in shown and "параметры:" in shown


def test_a_text_that_the_catalogue_lacks_is_shown_in_english() -> None:
    catalogue.use("ru")
    assert say("no such text of ours") == "no such text of ours"


def test_every_finding_can_be_told_in_russian() -> None:
    catalogue.use("ru")
    for finding, row in catalogue.catalogue().findings.items():
        names = re.findall(r"\{(\w+)\}", " ".join(row.texts["en"]))
        told = diagnose(finding, figure="", **dict.fromkeys(names, "x"))
        assert re.search("[а-я]", told.sentence) or finding == "dns.ok", finding
