"""Searching the documentation finds what people paste and type."""
# ruff: noqa: E501 (messages as programs print them)

import re
from functools import cache
from pathlib import Path
from time import process_time
from urllib.parse import unquote, urlencode

import pytest

from readback.cabinet.pages.docs import anchor, source
from readback.cabinet.pages.search import essence, search
from readback.cabinet.pages.search_index import more_messages
from tests.cabinet.visitor import Visitor, text_of

pytestmark = pytest.mark.usefixtures("database")

# Printed messages and typed questions, with the sections that may come first. Sections
# are named after their headings on the English page, even for a Russian message.
MESSAGES = Path(__file__).with_name("messages.tsv")
# What people type, and how the address of one of the results must begin.
TYPED = {
    "en": {
        "no e-mail arrives": "runbook#",
        "certificate expired": "findings#tls",
        "how do I revoke a key": "cabinet#",
        "rate limit": "contract#",
        "behind a corporate proxy": "connect#behind-a-proxy",
        "backup": "backup",
        "lost my second factor": "operations#",
        "killed worker loses usage": "reliability#what-a-kill-may-lose",
    },
    "ru": {
        "не приходит письмо": "runbook#",
        "истёк сертификат": "findings#tls",
        "отозвать ключ": "cabinet",
        "ограничение запросов": "contract#",
        "через прокси": "connect#через-прокси",
        "потерял второй фактор": "operations#",
    },
}


def found(query: str, language: str = "en") -> list[str]:
    """Return the pages and anchors of the first three results."""
    page = text_of(Visitor(language).get("/docs/?" + urlencode({"q": query})))
    return re.findall(r'<li><a href="/docs/([^"]+)"', page)[:3]


@pytest.mark.parametrize("language", TYPED)
def test_what_people_type_leads_to_what_it_means(language: str):
    at = {query: found(query, language) for query in TYPED[language]}
    missed = {
        query: at[query]
        for query, place in TYPED[language].items()
        if not any(each.startswith(place) for each in at[query])
    }
    assert missed == {}


@pytest.mark.parametrize("language", ["en", "ru"])
def test_what_programs_print_leads_to_what_it_means(language: str):
    lines = MESSAGES.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line.startswith(language)]
    assert len(rows) > 30
    missed = {
        message: at
        for _, message, places in rows
        if (at := first_section(message, language)) not in places.split()
    }
    assert missed == {}


@pytest.mark.parametrize("language", ["en", "ru"])
def test_more_messages_belong_to_a_row_of_a_page(language: str):
    pages = ["symptoms", "connect", "messages"]
    text = "\n".join(source(page, language)[0] for page in pages)
    first = {found[1] for found in re.finditer("^[|][^`|]*`([^`]+)`.*[|]$", text, re.M)}
    assert set(more_messages()) <= first


def first_section(message: str, language: str) -> str:
    """Return the section that a search finds first, with its anchor in English."""
    section = search(message, language)[0].section
    places = [anchors(section.page, code) for code in (language, "en")]
    at = places[0].index(section.anchor) if section.anchor in places[0] else -1
    return f"{section.page}{places[1][at] if at >= 0 else section.anchor or '#'}"


@cache
def anchors(page: str, language: str) -> list[str]:
    return [
        f"#{anchor(heading)}"
        for heading in re.findall("^#{2,4} (.+)$", source(page, language)[0], re.M)
    ]


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize(
    "query, place",
    [
        ("READBACK_KEY_RATE", "settings#readback_key_rate"),
        ("tls.wrong_name", "findings#tlswrong_name"),
        ("http.gateway", "findings#httpgateway"),
        ("content_too_large", "errors#content_too_large"),
        ("single sign-on", "single-sign-on"),
    ],
)
def test_a_name_leads_to_the_place_that_explains_it(query, place, language):
    assert found(query, language)[0].startswith(place)


@pytest.mark.parametrize("query, place", [
    # Programs put their own words between those of the message …
    ("Connect to http://localhost:8000 [localhost/127.0.0.1] failed: Connection was "
     "refused by the target", "connect#connection-refused"),
    ("SslCertVerificationError: cert verify has failed", "connect#certificates"),
    # … but with another number, it is another message.
    ("Error code: 429", "errors#rate_limited"),
    # Question words are ignored.
    ("как отозвать ключ", "cabinet"),
    ("how can I revoke my key?", "cabinet#"),
])  # fmt: skip
def test_the_words_of_a_message_count_wherever_they_are(query: str, place: str):
    language = "en" if query.isascii() else "ru"
    assert any(each.startswith(place) for each in found(query, language))


@pytest.mark.parametrize("query, places", [
    ("Connection refused", ["connect#connection-refused"]),
    # The name of an exception says less than the message …
    ("litellm.BadRequestError: LLM Provider NOT provided. You passed model=gpt",
     ["connect#no-request-was-sent"]),
    # … and common words say nothing.
    ("HTTP/2 401: Malformed JSON in response", ["errors#invalid_key"]),
    # These contain shorter messages with another cause, which must not be found.
    ("Invalid URL (POST /v1/chat/completions/chat/completions)",
     ["connect#a-wrong-path"]),
    ("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead.", ["connect#if-another-service-answers"]),
])  # fmt: skip
def test_a_certain_answer_stands_alone(query: str, places: list[str]):
    assert found(query) == places


@pytest.mark.parametrize("query, place", [
    ("My bot cannot connect, it says: An error has occurred", "connect#find-the-cause"),
    ("it does not work, there is an error", "connect#find-the-cause"),
    ("Бот запустился, но не коннектится с OpenAI из-за ошибки: An error has occurred",
     "connect#как-найти-причину"),
])  # fmt: skip
def test_a_question_that_says_no_reason_leads_to_how_to_find_it(query: str, place: str):
    language = "en" if query.isascii() else "ru"
    assert unquote(found(query, language)[0]) == place
    assert "errors" not in found(query, language)[:2]


CHAIN = "\nThe above exception was the direct cause of the following exception:\n\n"


@pytest.mark.parametrize("separator", ["\n", " "], ids=["lines", "one line"])
@pytest.mark.parametrize("traceback, place", [
    # The last lines carry the message …
    ('  File "/srv/app/main.py", line 12, in <module>\n    return call(request)\n' * 250
     + "httpx.ConnectError: [Errno 111] Connection refused", "connect#connection-refused"),
    # … unless a library hides it behind its own.
    ('  File "/srv/http.py", line 12, in connect\n    raise exc from None\n' * 120
     + "httpcore.ConnectError: [Errno -2] Name or service not known\n" + CHAIN
     + '  File "/srv/openai.py", line 9, in request\n    raise error from err\n' * 120
     + "openai.APIConnectionError: Connection error.", "connect#unknown-host"),
    ("ResourceAccessException: PKIX path building failed: unable to find valid "
     "certification path to requested target\n"
     + "\tat java.base/sun.security.ssl.Alert.createSSLException(Alert.java:130)\n" * 260,
     "connect#certificates"),
])  # fmt: skip
def test_a_whole_traceback_leads_to_what_it_says(traceback, place, separator):
    form = {"q": traceback.replace("\n", separator)}
    visitor = Visitor()
    answer = visitor.client.post("/docs/", form)

    assert len(traceback) > 15_000
    assert answer.status_code == 302 and len(answer["Location"]) < 6000
    page = text_of(visitor.client.get(answer["Location"]))
    assert place in re.findall(r'<li><a href="/docs/([^"]+)"', page)[:2]


def test_the_form_of_the_search_sends_20_000_characters_of_any_language():
    page = text_of(Visitor().get("/docs/"))
    answer = Visitor().client.post("/docs/", {"q": "ошибка " * 2857})

    assert 'maxlength="20000"' in page and 'enctype="multipart/form-data"' in page
    assert answer.status_code == 302


@pytest.mark.parametrize("text", ["a", "at (", 'File "', "Error", "a.Error: ", "^"])
def test_a_text_that_only_begins_like_a_traceback_takes_no_long_time(text):
    started = process_time()
    essence(text * (20_000 // len(text)))

    assert process_time() - started < 1


def test_the_result_shows_the_whole_sentence_that_answers():
    page = text_of(Visitor().get("/docs/?q=killed+worker+loses+usage"))

    assert "A stop, a reload or a restart with SIGTERM loses none of this." in page or (
        "A worker that is killed, by SIGKILL or by the system when memory runs out"
        in page
    )


def test_the_result_of_a_message_shows_its_section_its_cause_and_its_fix():
    page = text_of(Visitor().get("/docs/?q=You+exceeded+your+current+quota"))

    assert "If another service answers" in page
    assert "The account has no credit" in page
    assert "Retrying does not help." in page


def test_a_search_without_results_offers_the_probe_and_shows_the_words_as_text():
    query = urlencode({"q": "<b>zzzz</b> " + "x" * 500})
    page = text_of(Visitor().get(f"/docs/?{query}"))

    assert "Nothing found" in page
    assert 'href="/docs/probe"' in page and 'href="/docs/symptoms"' in page
    assert "<b>zzzz" not in page


def test_a_heading_without_a_text_is_no_result_and_a_comment_is_no_heading():
    assert "findings#key" not in found("401 invalid_key Incorrect API key")
    assert found("schemathesis 405")[0] == "testing#openapi"


def test_the_markup_of_a_page_is_not_shown():
    page = text_of(Visitor().get("/docs/?q=nothing+is+listening"))

    assert "\\" not in page
