"""The key: its flaws are told without it, and it shows itself nowhere."""

import pytest

from readback import keys
from readback.probe.diagnoses import found
from readback.probe.findings import Trouble
from readback.probe.secret import Secret, check

# A constant: the names of tests must be the same in every process.
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
def test_what_wraps_a_key_is_named_and_taken_off(pasted: str, id: str) -> None:
    finding, secret = check(Secret(pasted))
    assert finding.id == id
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
def test_a_key_that_cannot_be_right_is_told_without_it(pasted: str, id: str) -> None:
    with pytest.raises(Trouble) as caught:
        check(Secret(pasted))
    assert caught.value.id == id
    if pasted:
        assert pasted not in str(caught.value.facts)


def test_a_key_shows_only_its_mask() -> None:
    secret = Secret(KEY)
    assert f"{secret} {secret!r} {secret.mask}" == " ".join([keys.masked(KEY[-4:])] * 3)


@pytest.mark.parametrize("short", ["abcd", "hunter2", KEY[:20]])
def test_what_is_not_a_whole_key_shows_nothing_of_itself(short: str) -> None:
    assert short[-4:] not in Secret(short).mask


def test_a_key_that_something_puts_into_a_finding_is_taken_out() -> None:
    said = {"detail": f"came: {KEY}"}
    finding = found("key.refused", attempts=[said, KEY], detail=f"{KEY} is unknown.")
    assert KEY not in str(Secret(KEY).scrub(finding))
