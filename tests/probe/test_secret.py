"""The key: its mistakes are reported, but the key itself is never shown."""

import pytest

from readback import keys
from readback.probe.diagnoses import diagnose
from readback.probe.entered.secret import Secret, check
from readback.probe.results import ProbeError

# A constant, because test names must be the same in every process.
KEY = "sk-echo-Alice0Bob1Mallory2Alice3Bob4Mall2aZMYy"


@pytest.mark.parametrize(
    ("pasted", "id"),
    [
        (KEY, "key.ok"),
        (f"{KEY}\n", "key.spaces"),
        (f"\u200b{KEY}", "key.spaces"),
        (f'"{KEY}"', "key.quoted"),
        (f"Bearer {KEY}", "key.bearer"),
        (f" 'Bearer {KEY}' ", "key.spaces"),
    ],
)
def test_characters_around_a_key_are_reported_and_removed(pasted: str, id: str) -> None:
    diagnosis, secret = check(Secret(pasted))
    assert diagnosis.id == id
    assert secret.reveal() == KEY


@pytest.mark.parametrize(
    ("pasted", "id"),
    [
        ("", "key.none"),
        (KEY[:-1], "key.cut"),
        (KEY + "0", "key.long"),
        (KEY[:-7] + ("a" if KEY[-7] != "a" else "b") + KEY[-6:], "key.typo"),
        (KEY[:-1] + "-", "key.characters"),
        (KEY[:-1] + "о", "key.characters"),  # a Cyrillic letter
        (keys.masked(KEY[-4:]), "key.mask"),
        ("sk-proj-abcdefghijklmnop", "key.prefix"),
        ("hunter2", "key.prefix"),
    ],
)
def test_an_invalid_key_is_reported_without_the_key(pasted: str, id: str) -> None:
    with pytest.raises(ProbeError) as caught:
        check(Secret(pasted))
    assert caught.value.id == id
    if pasted:
        assert pasted not in str(caught.value.facts)


def test_a_key_is_shown_only_as_its_mask() -> None:
    secret = Secret(KEY)
    assert f"{secret} {secret!r} {secret.mask}" == " ".join([keys.masked(KEY[-4:])] * 3)


@pytest.mark.parametrize("short", ["abcd", "hunter2", KEY[:20]])
def test_nothing_of_an_incomplete_key_is_shown(short: str) -> None:
    assert short[-4:] not in Secret(short).mask


def test_a_key_in_a_diagnosis_is_masked() -> None:
    fact = {"detail": f"received: {KEY}"}
    diagnosis = diagnose(
        "key.refused", attempts=[fact, KEY], detail=f"{KEY} is unknown."
    )
    assert KEY not in str(Secret(KEY).redact(diagnosis))
