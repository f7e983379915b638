"""Addresses as users paste them: the reported mistake and the corrected address."""

import pytest

from readback.probe.entered import base_url
from readback.probe.results import ProbeError

GOOD = "https://echo.example/v1"


@pytest.mark.parametrize(
    ("entered", "id", "corrected"),
    [
        (GOOD, "address.ok", GOOD),
        ("https://echo.example:443/v1", "address.ok", GOOD),
        ("https://echo.example/gateway/v1", "address.ok", None),
        ("https://ECHO.example/v1", "address.ok", GOOD),
        ("http://127.0.0.1:8000/v1", "address.ok", None),
        ("http://[::1]:8000/v1", "address.ok", None),
        ("https://пример.example/v1", "address.ok", "https://xn--e1afmkfd.example/v1"),
        ("http://echo.example/v1", "address.unencrypted", None),
        (f"{GOOD}/", "address.trailing_slash", GOOD),
        (f" {GOOD}\n", "address.spaces", GOOD),
        (f"“{GOOD}”", "address.spaces", GOOD),
        (f"\ufeff{GOOD}", "address.spaces", GOOD),
        ("echo.example/v1", "address.no_scheme", GOOD),
        ("localhost:8000/v1", "address.no_scheme", "http://localhost:8000/v1"),
        ("https://alice:hush@echo.example/v1", "address.login", GOOD),
        (f"{GOOD}?api-version=1", "address.parameter", GOOD),
        (f"{GOOD}#top", "address.parameter", GOOD),
        (f"{GOOD}?", "address.parameter", GOOD),
        (f"{GOOD}/chat/completions", "address.endpoint", GOOD),
        (f"{GOOD}/models/", "address.endpoint", GOOD),
        ("https://echo.example/chat/completions", "address.endpoint", GOOD),
        (f"{GOOD}/v1", "address.doubled", GOOD),
        ("https://echo.example", "address.no_version", GOOD),
        ("https://echo.example/", "address.no_version", GOOD),
        (f"{GOOD}/responses", "address.no_version", GOOD),
        ("https://echo.example//v1", "address.slashes", GOOD),
    ],
)
def test_a_mistake_is_reported_and_corrected(
    entered: str, id: str, corrected: str | None
) -> None:
    diagnosis, parsed = base_url.check(entered)
    assert diagnosis.id == id
    assert str(parsed) == (corrected or entered)


@pytest.mark.parametrize(
    ("entered", "id"),
    [
        ("sk-echo-0123456789", "address.is_key"),
        ("sk-proj-0123456789", "address.is_key"),
        ("ftp://echo.example/v1", "address.scheme"),
        ("https:///v1", "address.host"),
        ("https://echo.example:99999/v1", "address.host"),
        ("https://echo.example:0/v1", "address.host"),
        ("https://[::1/v1", "address.host"),
        ("https://echo..example/v1", "address.host"),
        (f"https://{'a' * 64}.example/v1", "address.host"),
        ("https://ec%20ho.example/v1", "address.host"),
        ("", "address.host"),
    ],
)
def test_an_address_that_cannot_be_corrected_raises_an_error(
    entered: str, id: str
) -> None:
    with pytest.raises(ProbeError) as caught:
        base_url.check(entered)
    assert caught.value.id == id


def test_a_password_in_the_address_is_not_shown() -> None:
    diagnosis, parsed = base_url.check("https://alice:hush@echo.example/v1?token=hush")
    assert "hush" not in f"{diagnosis}{parsed}"
