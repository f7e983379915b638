"""The key is found in pasted text, and nothing else in that text is ever shown."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from readback import keys
from readback.probe.common.catalogue import catalogue, diagnose, from_error
from readback.probe.common.formatting import Redactor, redacted
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.entered.key import Secret, check

# Constants, because test names must be the same in every process.
KEY = "sk-echo-Alice0Bob1Mallory2Alice3Bob4Mall2aZMYy"
OTHER = "sk-echo-Bob5Mallory6Alice7Bob8Mallory9Al4QeGwG"
FOREIGN = "sk-proj-Q7w8E9r0T1y2U3i4"


def ids(diagnoses: list[Diagnosis]) -> list[str]:
    return [diagnosis.id for diagnosis in diagnoses]


@pytest.mark.parametrize(
    ("pasted", "found"),
    [
        (KEY, ["key.ok"]),
        (f"{KEY}\n", ["key.corrected"]),
        (f"{KEY}\\n", ["key.corrected"]),
        (f"\ufeff{KEY}", ["key.corrected"]),
        (f"{KEY[:9]}\u00ad{KEY[9:]}", ["key.corrected"]),
        (f'"{KEY}"', ["key.corrected"]),
        (f"`{KEY}`", ["key.corrected"]),
        (f'\\"{KEY}\\"', ["key.corrected"]),
        (f"[{KEY}]", ["key.corrected"]),
        (f"Bearer {KEY}", ["key.corrected"]),
        (f"Bearer Bearer {KEY}", ["key.corrected"]),
        (f"Authorization: Bearer {KEY}", ["key.corrected"]),
        (f'-H "Authorization: Bearer {KEY}"', ["key.corrected"]),
        (f"READBACK_API_KEY={KEY}", ["key.corrected"]),
        (f"api_key: {KEY}", ["key.corrected"]),
        (f'export READBACK_API_KEY="{KEY}";', ["key.corrected"]),
        (f'$env:READBACK_API_KEY = "{KEY}"', ["key.corrected"]),
        (json.dumps({"api_key": KEY}), ["key.corrected"]),
        (f"{KEY},", ["key.corrected"]),
        (f"{KEY}0", ["key.corrected"]),
        (f"x{KEY}", ["key.corrected"]),
        (f"your key is {KEY} for now", ["key.corrected"]),
        (f"{KEY[:20]}\n{KEY[20:]}", ["key.corrected"]),
        (f"{KEY[:20]} \\\n  {KEY[20:]}", ["key.corrected"]),
        (KEY * 2, ["key.corrected"]),
        (f"{KEY}\n{OTHER}", ["key.corrected"]),
        (f"{KEY} {OTHER}", ["key.corrected"]),
    ],
)
def test_a_whole_key_is_found_and_what_was_around_it_is_named(
    pasted: str, found: list[str]
) -> None:
    diagnoses, secret = check(Secret(pasted))
    assert ids(diagnoses) == found
    assert secret.reveal() == KEY
    assert secret.is_readback_key


@pytest.mark.parametrize("pasted", ["", " \n", "\u200b"])
def test_no_key_is_not_a_failure_until_a_service_needs_one(pasted: str) -> None:
    found, kept = check(Secret(pasted))
    assert ids(found) == ["key.absent"]
    assert not kept


@pytest.mark.parametrize(
    ("pasted", "finding"),
    [
        (KEY[:-1], "key.invalid"),
        (KEY[:-7] + "b" + KEY[-6:], "key.invalid"),
        (f"{KEY[:20]}\n{KEY[20:-1]}0", "key.invalid"),
        (KEY[:-1] + "-", "key.invalid"),
        (KEY[:-1] + "о", "key.invalid"),  # a Cyrillic letter
        (KEY.lower(), "key.invalid"),
        (KEY.replace("-", "–"), "key.invalid"),
        (keys.masked(KEY[-4:]), "key.invalid"),
        (f"sk-…••••{KEY[-4:]}", "key.invalid"),
        ("$READBACK_API_KEY", "key.invalid"),
        ("%READBACK_API_KEY%", "key.invalid"),
        ("sk-proj-a b", "key.invalid"),
        ("sk-proj-ключ", "key.invalid"),
        ("sk-proj-\udce9", "key.invalid"),
        ("x" * 20_000, "key.invalid"),
    ],
)
def test_a_text_that_is_no_key_is_refused(pasted: str, finding: str) -> None:
    with pytest.raises(ProbeError) as caught:
        check(Secret(pasted))
    assert caught.value.id == finding
    assert from_error(caught.value).id == finding


@pytest.mark.parametrize(
    ("pasted", "found"),
    [
        (FOREIGN, ["key.foreign"]),
        ("EMPTY", ["key.foreign"]),
        ("alice:hush", ["key.foreign"]),
        (f"\ufeff{FOREIGN}", ["key.corrected", "key.foreign"]),
        (f'"{FOREIGN}"', ["key.corrected", "key.foreign"]),
        (f"Bearer {FOREIGN}", ["key.corrected", "key.foreign"]),
        (f"OPENAI_API_KEY='{FOREIGN}'", ["key.corrected", "key.foreign"]),
        (json.dumps({"api_key": FOREIGN}), ["key.corrected", "key.foreign"]),
    ],
)
def test_a_key_of_another_service_is_not_a_mistake(
    pasted: str, found: list[str]
) -> None:
    diagnoses, secret = check(Secret(pasted))
    assert ids(diagnoses) == found
    assert secret.reveal() in (FOREIGN, pasted)
    assert not secret.is_readback_key


def test_a_key_is_shown_only_as_its_mask() -> None:
    secret = Secret(KEY)
    assert f"{secret} {secret!r} {secret.mask}" == " ".join([keys.masked(KEY[-4:])] * 3)


@pytest.mark.parametrize(
    "wrong", ["abcd", "hunter2", KEY[:20], KEY[:-1] + "0", "x" * 46]
)
def test_nothing_of_another_text_is_shown(wrong: str) -> None:
    assert wrong[-4:] not in Secret(wrong).mask


# The probe's own words: a report may show them even if they were also pasted.
STATIC = f"{catalogue()}"
PASTED = st.text(max_size=60) | st.lists(
    st.text(max_size=3)
    | st.sampled_from(
        [KEY, OTHER, FOREIGN, KEY[:-1], KEY.lower(), "hunter2-secret", "пароль-ключ"]
        + ["\n", " ", '"', "«", "<", ">", "{", "}", "=", ":", ",", "%0A", "\\n", "\0"]
        + ["Bearer ", "Authorization: ", "export X=", "KEY=", "\u200b", "…", "****"]
    ),
    max_size=6,
).map("".join)


def shown_for(pasted: str) -> list[str]:
    try:
        diagnoses = check(Secret(pasted))[0]
    except ProbeError as error:
        diagnoses = [from_error(error)]
    facts = [fact for diagnosis in diagnoses for fact in diagnosis.facts.values()]
    return [
        *map(str, facts),
        *(f"{diagnosis.sentence} {diagnosis.hint}" for diagnosis in diagnoses),
    ]


@given(PASTED)
@example(f"{KEY}\0")
@example("hunter2-secret://hunter2-secret")
def test_no_part_of_what_was_pasted_is_shown(pasted: str) -> None:
    shown = shown_for(pasted)
    parts = {pasted[start : start + 6] for start in range(len(pasted) - 5)}
    secret = [part for part in parts if part not in STATIC]
    assert [part for part in secret if any(part in text for text in shown)] == []


@given(PASTED)
def test_a_key_that_can_be_used_can_be_sent(pasted: str) -> None:
    try:
        _, secret = check(Secret(pasted))
    except ProbeError:
        return
    assert secret.reveal().isascii()
    assert secret.reveal().isprintable()
    assert " " not in secret.reveal()


def without(pasted: str, diagnosis: Diagnosis) -> Diagnosis:
    return redacted(diagnosis, Redactor(Secret(pasted).masks))


@pytest.mark.parametrize("shown", [KEY, f'"{KEY}"', f' "{KEY}"\n'])
@pytest.mark.parametrize("pasted", [KEY, f'"{KEY}"', f' "{KEY}"\n', f"A={KEY}\n"])
def test_a_key_in_a_diagnosis_is_masked(pasted: str, shown: str) -> None:
    said = f"{shown} is unknown."
    diagnosis = diagnose("key.refused", attempts=shown, detail=said, sent_to="a")
    assert KEY[8:14] not in str(without(pasted, diagnosis))


@pytest.mark.parametrize("pasted", [FOREIGN, f"Bearer {FOREIGN}", f" '{FOREIGN}' "])
def test_a_key_of_another_service_in_a_diagnosis_is_masked(pasted: str) -> None:
    diagnosis = diagnose("key.refused", detail=f"{FOREIGN} is unknown.", sent_to="a")
    assert FOREIGN not in str(without(pasted, diagnosis))


@pytest.mark.parametrize(
    "repeat",
    [
        str.upper,
        str.lower,
        lambda key: key[::-1],
        lambda key: key.encode().hex(),
        " ".join,
        lambda key: key.replace("-", "%2D"),
    ],
)
def test_a_key_that_a_server_repeats_in_another_form_is_masked(repeat) -> None:
    shown = repeat(FOREIGN)
    diagnosis = diagnose("key.refused", detail=f"received {shown}.", sent_to="a")
    assert shown not in str(without(FOREIGN, diagnosis))


@pytest.mark.parametrize("word", ["ollama", "lm-studio"])
def test_a_word_that_local_servers_take_as_a_key_is_not_hidden(word: str) -> None:
    diagnosis = diagnose("dns.ok", host=word, addresses="127.0.0.1", kind="")
    assert word in without(word, diagnosis).sentence


def test_a_short_text_does_not_spoil_the_report() -> None:
    diagnosis = diagnose("key.refused", detail="It is unknown.", sent_to="a")
    assert without("e", diagnosis) == diagnosis
