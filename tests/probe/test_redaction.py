"""Every input to the probe contains a secret, which no output may show."""

import json
import time
from base64 import b64encode
from urllib.parse import quote

import pytest

from readback.probe.common.formatting import Redactor, secrets_in, without_credentials
from readback.probe.entered.key import Secret
from tests.probe.forms import FORMS
from tests.probe.gateway import Behavior, Call, Reply, gateway
from tests.probe.probing import probed
from tests.probe.setups import ProbeInput
from tests.probe.test_command import run

SECRETS = {
    "key": "Zx9-the-Key-4Qw7-of-Alice",
    "user": "address-us3r",
    "password": "addressPa55word",
    "token": "address-t0ken-77",
    "proxy_user": "proxy-us3r",
    "proxy_password": "proxyPa55/word",
    "variable": "Yv8-another-Key-5Rt6",
}
# Parts of a secret must not be shown either.
PARTS = {"the-Key-4Qw7", "Pa55", "t0ken", "us3r", "Key-5Rt6", "4Qw7"}
ANSWERS = {
    "message": (401, {}, "json"),
    "message in a server error": (500, {}, "json"),
    "title": (403, {"Content-Type": "text/html"}, "html"),
    "location": (302, {"Location": "http://{login}@elsewhere.example/{all}"}, "json"),
    "server": (407, {"Server": "{all}", "Proxy-Authenticate": "Basic"}, "html"),
    "models": (200, {"Server": "{all}", "X-Cache": "{all}"}, "models"),
}


def repeating(answer: str) -> Behavior:
    """Repeat every secret in the reply, even those that the server cannot know."""
    status, headers, form = ANSWERS[answer]

    def behave(call: Call) -> Reply:
        said = " ".join((*SECRETS.values(), call["Authorization"]))
        said += f" {SECRETS['key'][:9]}...{SECRETS['key'][-6:]} access this project"
        body = {
            "json": json.dumps({"error": {"message": said, "code": said}}),
            "html": f"<html><title>{said}</title></html>",
            "models": json.dumps({"data": [{"id": said}, {"id": SECRETS["key"]}]}),
        }[form]
        login = f"{SECRETS['user']}:{SECRETS['password']}"
        fields = tuple(
            (name, value.format(login=login, all=quote(said)))
            for name, value in headers.items()
        )
        return Reply(status, said, fields, body.encode())

    return behave


def address(host: str) -> str:
    login = f"{SECRETS['user']}:{SECRETS['password']}"
    return f"http://{login}@{host}/v1?token={SECRETS['token']}"


def proxy(host: str) -> str:
    password = quote(SECRETS["proxy_password"], safe="")
    return f"http://{SECRETS['proxy_user']}:{password}@{host}"


def shown_secrets(text: str) -> list[str]:
    return [secret for secret in {*SECRETS.values(), *PARTS} if secret in text]


@pytest.mark.parametrize("bypassed", ["", "127.0.0.1"], ids=["proxy", "direct"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_no_form_of_a_report_shows_a_secret(
    answer: str, bypassed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRETS["variable"])
    with gateway("", repeating(answer)) as server:
        host = f"127.0.0.1:{server.port}"
        monkeypatch.setenv("http_proxy", proxy(host))
        monkeypatch.setenv("no_proxy", bypassed)
        chat = "gpt-small" if answer == "models" else None
        report = probed(ProbeInput(address(host), SECRETS["key"], chat=chat))
    shown = {name: shown_secrets(form(report)) for name, form in FORMS.items()}
    assert shown == dict.fromkeys(FORMS, [])


@pytest.mark.parametrize("url", ["{}", "ftp://{}@host", "http://[{}", "x {} y"])
def test_an_address_that_cannot_be_read_is_not_repeated(url: str) -> None:
    secret = SECRETS["password"]
    done = run(url.format(f"alice:{secret}"), "--json", key=SECRETS["key"])
    assert shown_secrets(done.stdout + done.stderr) == []


@pytest.mark.parametrize(
    "text",
    [
        "You cannot access this project",
        "Bearer authentication is required; send a Bearer token.",
        "Basic authentication failed: wrong password for this account",
        "The token has expired; the session was closed",
        "the tasks-runner is a risk-management tool",
        "api_key: missing",
        "See https://host.example/v1/models#errors",
        "A **bold** word",
        "the service sk-api is down",
    ],
)
def test_words_stay(text: str) -> None:
    redactor = Redactor(Secret("sk-proj-Q7w8E9r0T1y2").masks | Secret("bold").masks)
    assert redactor.text(text).replace("#…", "#errors") == text


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcDEF123456",
        "Authorization: Basic YWxpY2U6aHVzaA==",
        "password=abcDEF123456",
        '{"api_key": "abcDEF123456"}',
        "http://alice:abcDEF123456@host.example/",
        "http://host.example/?code=abcDEF123456&state=x",
        "http://host.example/#access_token=abcDEF123456",
        "cookie: sessionid=abcDEF123456",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhYmNERUYxMjM0NTYifQ.abcDEF123456",
        "gsk_abcDEF1234567890",
        "key sk-***********F123456",
    ],
)
def test_what_looks_like_a_credential_is_hidden(text: str) -> None:
    shown = without_credentials(text)
    assert "DEF123456" not in shown
    assert "F123456" not in shown
    assert "aHVzaA" not in shown


_KEY = "sk-proj-T3BlbkFJabcd1234T3BlbkFJ"


@pytest.mark.parametrize(
    "shown",
    [
        "".join(f"%{byte:02X}" for byte in _KEY.encode()),
        b64encode(f"Bearer {_KEY}".encode()).decode(),
        b64encode(f"user:{_KEY}".encode()).decode().rstrip("="),
        b64encode(_KEY.encode()).decode()[:24],
        _KEY.encode().hex(),
        _KEY.encode().hex(":").upper(),
        _KEY.encode().hex(" "),
        f"Bearer%20{_KEY[:15]}",
        f"key%20{_KEY[-7:]}",
        _KEY[::-1],
        _KEY.upper(),
        " ".join(_KEY),
    ],
)
def test_a_key_that_a_server_encodes_is_hidden(shown: str) -> None:
    redactor = Redactor(Secret(_KEY).masks)
    assert redactor.text(f"wrong {shown}, sorry") in (
        "wrong …, sorry",
        "wrong [key], sorry",
    )


@pytest.mark.parametrize("key", ["service", "request", "project", "Certificate"])
def test_a_key_that_is_a_word_does_not_spoil_the_report(key: str) -> None:
    report = probed(ProbeInput("http://127.0.0.1:1/v1", key))
    with_other = probed(ProbeInput("http://127.0.0.1:1/v1", "another-key-7"))
    sentences = [result.diagnosis.sentence for result in report.results]
    assert sentences == [result.diagnosis.sentence for result in with_other.results]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://alice:hush@host/", ["alice:hush", "alice", "hush"]),
        ("alice:hu/sh@host", ["alice:hu/sh", "alice", "hu/sh"]),
        ("http://host/?a=b#c=d", ["b", "d"]),
        ("http://[", []),
    ],
)
def test_secrets_are_found_in_an_address(url: str, found: list[str]) -> None:
    assert list(secrets_in(url)) == found


@pytest.mark.parametrize("part", ["9", "x-", "a**", "://", "token ", "sk-"])
def test_a_long_text_takes_no_quadratic_time(part: str) -> None:
    begun = time.monotonic()
    without_credentials(part * (100_000 // len(part)))

    # A tenth of a second is usual; quadratic time would mean two minutes.
    assert time.monotonic() - begun < 30
