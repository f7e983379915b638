"""The report in another language: which one is chosen, and what is translated."""

import json
import re
from collections.abc import Iterator

import pytest

from readback.probe import language
from readback.probe.diagnoses import TEMPLATES, diagnose
from tests.probe.test_command import run

NOWHERE = "http://127.0.0.1:1/v1"


@pytest.fixture(autouse=True)
def _english_afterwards() -> Iterator[None]:
    yield
    language.use("en")


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
        (["--json", "--language", "ru"], {}, "ru"),
    ],
)
def test_the_language_is_that_of_the_option_or_of_the_terminal(
    arguments: list[str], variables: dict[str, str], code: str
) -> None:
    assert language.wanted(arguments, variables) == code


@pytest.mark.parametrize("form", [[], ["--markdown"], ["--short"]])
def test_a_report_in_russian(form: list[str]) -> None:
    done = run(NOWHERE, *form, more={"LC_ALL": "ru_RU.UTF-8"}, key="")
    assert "Не работает на шаге «TCP»: " in done.stdout
    assert "Кто может исправить: " in done.stdout
    assert "tcp." in done.stdout


def test_ids_names_and_facts_of_json_stay() -> None:
    done = run(NOWHERE, "--json", "--language", "ru", key="")
    report = json.loads(done.stdout)
    assert report["language"] == "ru"
    assert re.search("[а-я]", report["sentence"])
    assert report["id"].startswith("tcp.") and report["fixer"] == "you"
    assert not re.search("[а-я]", str([one["facts"] for one in report["findings"]]))


def test_help_is_in_the_language_of_the_terminal() -> None:
    assert "Адрес API." in run("--help", more={"LANG": "ru_RU.UTF-8"}).stdout


def test_a_missing_translation_is_shown_in_english() -> None:
    language.use("ru")
    assert language.say("no such phrase of ours") == "no such phrase of ours"
    diagnosis = diagnose("http.tls_port", port=80)
    assert language.localized(diagnosis).sentence.startswith("Порт 80 ожидает TLS")
    language._catalogue.findings.pop("http.tls_port")
    assert language.localized(diagnosis).sentence == diagnosis.sentence


def test_phrases_inside_of_a_finding_are_translated() -> None:
    language.use("ru")
    found = language.localized(diagnose("tls.expires_soon", left="12 days"))
    assert (
        found.sentence == "Срок действия сертификата скоро истечёт (осталось 12 дн.)."
    )
    assert found.facts["left"] == "12 days"
    skipped = language.localized(diagnose("skipped.failed", reason="key accepted"))
    assert "«приём ключа»" in skipped.sentence


def test_every_finding_can_be_told_in_russian() -> None:
    language.use("ru")
    for id, row in TEMPLATES.items():
        names = re.findall(r"\{(\w+)\}", f"{row.sentence} {row.hint}")
        told = language.localized(diagnose(id, **dict.fromkeys(names, "x")))
        assert re.search("[а-я]", told.sentence), id


@pytest.mark.parametrize(
    ("english", "russian"),
    [
        ("4.5 s", "4.5 с"),
        ("502 (3) and no response (2)", "502 (3) и нет ответа (2)"),
        ("curl, Node 22 and Java", "curl, Node 22 и Java"),
        (
            "address: 10.0.0.1 failed 3 of 5; 10.0.0.2 failed 0 of 5",
            "адрес: 10.0.0.1: ошибок 3 из 5; 10.0.0.2: ошибок 0 из 5",
        ),
        (
            "connect  p50  0.2 ms  p95  0.6 ms  max  1.2 s",
            "соединение  p50  0.2 мс  p95  0.6 мс  макс.   1.2 с",
        ),
        (
            "through 10.0.0.1:3128, from http_proxy: curl (7.88.1), openai 3 (3.3.0)",
            "через 10.0.0.1:3128, из http_proxy: curl (7.88.1), openai 3 (3.3.0)",
        ),
    ],
)
def test_what_the_program_puts_together_is_translated(
    english: str, russian: str
) -> None:
    language.use("ru")
    assert language.say(english) == russian


@pytest.mark.parametrize(
    "words",
    ["Sold out and closed", "Connection refused by peer, try again", "“a and b”"],
)
def test_the_words_of_others_stay(words: str) -> None:
    language.use("ru")
    assert language.say(words) == words


def test_a_comparison_is_in_russian_as_well() -> None:
    done = run(NOWHERE, "--compare", NOWHERE, "--language", "ru", key="")
    assert "Оба адреса" in done.stdout and "прокси: " in done.stdout
