"""Addresses as users paste them: the reported mistakes and the corrected address."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.entered import address
from readback.probe.entered.base_url import with_version

GOOD = "https://echo.example/v1"
KEY = "sk-echo-Alice0Bob1Mallory2Alice3Bob4Mall2aZMYy"
NO_MISTAKE = {"address.ok"}


def ids(diagnoses: list[Diagnosis]) -> list[str]:
    return [diagnosis.id for diagnosis in diagnoses]


@pytest.mark.parametrize(
    "entered",
    [
        GOOD,
        "https://echo.example/gateway/v1",
        "http://127.0.0.1:8000/v1",
        "http://[::1]:8000/v1",
        "https://api.deepseek.com",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://alice.openai.azure.com/openai/v1",
        "https://open.bigmodel.cn/api/paas/v4",
        "https://openrouter.ai/api/v1",
        "https://sk-gateway.example/v1",
        "https://static.7.2.0.192.clients.your-server.example/v1",
        "https://echo.example/LLM_API/v1",
        "http://sk-gateway-internal-production:8000/v1",
        "https://echo.example/hf_endpoint_production_eu/v1",
        "https://echo.example/v2",
    ],
)
def test_an_address_without_a_mistake_stays_as_it_is(entered: str) -> None:
    found, parsed = address.check(entered)
    assert ids(found) == ["address.ok"]
    assert str(parsed) == entered


@pytest.mark.parametrize(
    ("entered", "same"),
    [
        ("https://echo.example:443/v1", GOOD),
        ("HTTPS://ECHO.example/v1", GOOD),
        ("HTTPS://API-PROD.EXAMPLE/v1", "https://api-prod.example/v1"),
        ("https://echo.example./v1", GOOD),
        ("https://пример.example/v1", "https://xn--e1afmkfd.example/v1"),
        ("https://echo.example/путь", "https://echo.example/%D0%BF%D1%83%D1%82%D1%8C"),
    ],
)
def test_another_way_to_write_an_address_is_not_a_mistake(
    entered: str, same: str
) -> None:
    found, parsed = address.check(entered)
    assert ids(found) == ["address.ok"]
    assert str(parsed) == same


@pytest.mark.parametrize(
    ("entered", "finding", "corrected"),
    [
        (f" {GOOD}\n", "address.corrected", GOOD),
        ("https://echo.exam\nple/v1", "address.corrected", GOOD),
        ("https://echo. example/v1", "address.corrected", GOOD),
        ("https://echo .example/v1", "address.corrected", GOOD),
        ("https://echo.example:4 43/v1", "address.corrected", GOOD),
        (f"{GOOD}\\n", "address.corrected", GOOD),
        (f'"{GOOD}"', "address.corrected", GOOD),
        (f"“{GOOD}”", "address.corrected", GOOD),
        (f"({GOOD})", "address.corrected", GOOD),
        ("{http://[::1]:8000/v1}", "address.corrected", "http://[::1]:8000/v1"),
        (f"[the API]({GOOD})", "address.corrected", GOOD),
        (f"<{GOOD}>", "address.corrected", GOOD),
        (f"**{GOOD}**", "address.corrected", GOOD),
        (f"OPENAI_BASE_URL={GOOD}", "address.corrected", GOOD),
        (f'export OPENAI_BASE_URL="{GOOD}"', "address.corrected", GOOD),
        (f'base_url: "{GOOD}"', "address.corrected", GOOD),
        (f'{{"base_url": "{GOOD}"}}', "address.corrected", GOOD),
        (f"--base-url={GOOD}", "address.corrected", GOOD),
        (f"see {GOOD} for more", "address.corrected", GOOD),
        (f"{GOOD},", "address.corrected", GOOD),
        (f"\ufeff{GOOD}", "address.corrected", GOOD),
        (f"\u202e{GOOD}\u202c", "address.corrected", GOOD),
        (f"{GOOD}%20", "address.corrected", GOOD),
        ("https%3A%2F%2Fecho.example%2Fv1", "address.corrected", GOOD),
        ("https:\\\\echo.example\\v1", "address.corrected", GOOD),
        ("https：／／echo。example／v1", "address.corrected", GOOD),
        ("echo.example/v1", "address.corrected", GOOD),
        ("localhost:8000/v1", "address.corrected", "http://localhost:8000/v1"),
        ("echo.corp:8000/v1", "address.corrected", "http://echo.corp:8000/v1"),
        ("https:/echo.example/v1", "address.corrected", GOOD),
        ("https//echo.example/v1", "address.corrected", GOOD),
        ("https://https://echo.example/v1", "address.corrected", GOOD),
        ("htps://echo.example/v1", "address.corrected", GOOD),
        ("https://alice:hush@echo.example/v1", "address.corrected", GOOD),
        ("http://0.0.0.0:8000/v1", "address.listen", "http://127.0.0.1:8000/v1"),
        ("http://[::]:8000/v1", "address.listen", "http://[::1]:8000/v1"),
        (f"{GOOD}?api-version=1", "address.corrected", GOOD),
        (f"{GOOD}#top", "address.corrected", GOOD),
        (f"{GOOD}/chat/completions", "address.corrected", GOOD),
        (f"{GOOD}/models/some-model", "address.corrected", GOOD),
        (
            "https://echo.example/embeddings",
            "address.corrected",
            "https://echo.example",
        ),
        (f"{GOOD}/v1", "address.corrected", GOOD),
        ("https://echo.example/V1", "address.corrected", GOOD),
        ("https://echo.example//v1", "address.corrected", GOOD),
        (f"{GOOD}/", "address.ok", GOOD),
        (f"{GOOD}?key={KEY}", "address.contains_key", GOOD),
        (f"curl {GOOD}/models -H 'X-Key: {KEY}'", "address.contains_key", GOOD),
        (
            "https://echoж.example/v1",
            "address.letters",
            "https://xn--echo-34d.example/v1",
        ),
    ],
)
def test_a_mistake_is_reported_and_corrected(
    entered: str, finding: str, corrected: str
) -> None:
    found, parsed = address.check(entered)
    assert ids(found)[0] == finding
    assert str(parsed) == corrected


@pytest.mark.parametrize(
    ("entered", "finding"),
    [
        ("sk-proj-0123456789", "address.contains_key"),
        (f"OPENAI_API_KEY={KEY}", "address.contains_key"),
        (f'"Bearer {KEY}"', "address.contains_key"),
        ("0123456789abcdef0123456789abcdef", "address.contains_key"),
        (f"https://echo.example/{KEY}/v1", "address.contains_key"),
        ("https://alice:se/cret@echo.example/v1", "address.unreadable"),
        ("hunter2", "address.unreadable"),
        ("alice@echo.example", "address.unreadable"),
        ("C:\\Users\\alice", "address.unreadable"),
        ("/v1/models", "address.unreadable"),
        ("$OPENAI_BASE_URL", "address.unreadable"),
        ("None/v1", "address.unreadable"),
        ("http://undefined:8000/v1", "address.unreadable"),
        ("https://{resource}.example/v1", "address.unreadable"),
        ("https://YOUR_HOST/v1", "address.unreadable"),
        ("https://your-resource-name.example/v1", "address.unreadable"),
        ("https://echo.example/accounts/ACCOUNT_ID/v1", "address.unreadable"),
        ("https://echo.[region].example/v1", "address.unreadable"),
        ("https://echo.<region>.example/v1", "address.unreadable"),
        ("https://a.example/v1, https://b.example/v1", "address.unreadable"),
        (f"https://{'a' * 3000}.example/v1", "address.unreadable"),
        ("https://ech\udce9.example/v1", "address.unreadable"),
        ("ftp://echo.example/v1", "address.unreadable"),
        ("https://echo.example:99999/v1", "address.unreadable"),
        ("https://echo.example:443:8443/v1", "address.unreadable"),
        ("http://::1:8000/v1", "address.unreadable"),
        ("https:///v1", "address.unreadable"),
        ("https://[::1/v1", "address.unreadable"),
        ("https://echo..example/v1", "address.unreadable"),
        (f"https://{'a' * 64}.example/v1", "address.unreadable"),
        ("", "address.unreadable"),
    ],
)
def test_an_address_that_cannot_be_corrected_raises_an_error(
    entered: str, finding: str
) -> None:
    with pytest.raises(ProbeError) as caught:
        address.check(entered)
    assert caught.value.id == finding


@pytest.mark.parametrize(
    "entered",
    [
        "a.example/v1 b.example/v1",
        "a.example b.example/v1",
        "https://a.example\tb.example/v1",
        "https://a.example/v1\u3000b.example/v1",
        "http://a.example:8000/v1 localhost:8000/v1",
        "localhost:8000/v1 backend/v1",
    ],
)
def test_two_addresses_do_not_become_one(entered: str) -> None:
    with pytest.raises(ProbeError) as caught:
        address.check(entered)
    assert "several addresses" in str(caught.value.facts)


def test_all_mistakes_are_told_in_one_finding() -> None:
    found, parsed = address.check("`https://alice:hush@echo.example//v1/models/`")
    assert ids(found) == ["address.corrected"]
    for word in ("around", "password", "path"):
        assert word in found[0].sentence
    assert str(parsed) == GOOD


@pytest.mark.parametrize(
    ("letter", "script"), [("о", "Cyrillic, U+043E"), ("ο", "Greek, U+03BF")]
)
def test_a_letter_of_another_script_is_named(letter: str, script: str) -> None:
    found, _ = address.check(f"https://ech{letter}.example/v1")
    assert ids(found) == ["address.letters"]
    assert f"{letter} ({script})" in found[0].sentence


@pytest.mark.parametrize(
    "entered",
    [
        "https://alice:hush99@echo.example/v1?token=hush99",
        f"https://{KEY}@echo.example/v1",
        f"https://echo.example/v1#{KEY}",
        f"https://echo.example/v1?key={KEY.replace('-', '%2D')}",
        f"see {GOOD} {KEY}",
        f"OPENAI_API_KEY={KEY}\nOPENAI_BASE_URL={GOOD}",
    ],
)
def test_a_password_or_key_in_the_address_is_not_shown(entered: str) -> None:
    found, parsed = address.check(entered)
    shown = f"{found}{parsed}"
    assert str(parsed) == GOOD
    assert "hush99" not in shown
    assert KEY[8:14] not in shown


PIECES = r"""
https:// http:// https: https // / \ :// :8000 :0 . , ; @ ? # % %20 %3A%2F%2F alice:hush
echo.example localhost 127.0.0.1 0.0.0.0 [::1] [::] ::1 /v1 /V1 /v2 /vl /v1/ /chat
/chat/completions /models NAME= export name: -H $X \n ` ** < > ( ) [ ] { } " ' “ ” «
е ж ｅ ： 。 …
"""
UNSEEN = " \n\t\x00\u00a0\u00ad\u200b\u202e\ufeff\ud800"
ENTERED = st.text(max_size=40) | st.lists(
    st.sampled_from([*PIECES.split(), *UNSEEN]), max_size=10
).map("".join)


@given(ENTERED)
@example("[https://echo.example/v1](https://echo.example/v1")
@example("https://1 /0:")
def test_any_text_is_refused_or_becomes_an_address_without_mistakes(
    entered: str,
) -> None:
    try:
        found, parsed = address.check(entered)
    except ProbeError:
        return
    assert found
    again, same = address.check(str(parsed))
    assert set(ids(again)) <= NO_MISTAKE
    assert same == parsed
    assert str(parsed).isascii()
    assert str(parsed).isprintable()


@pytest.mark.parametrize(
    ("path", "versioned"),
    [
        ("", "/v1"),
        ("/gateway", "/gateway/v1"),
        ("/v2", "/v1"),
        ("/api/paas/v4", "/api/paas/v1"),
        ("/v1beta", "/v1beta/openai"),
        ("/gateway/v1", "/gateway/v1"),
    ],
)
def test_another_version_or_none_is_replaced(path: str, versioned: str) -> None:
    _, parsed = address.check(f"https://echo.example{path}")
    assert with_version(parsed).path == versioned
