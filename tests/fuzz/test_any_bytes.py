"""A little fuzzing in every test run, with the corpus and variants of it.

Inputs that revealed a bug are in the corpus, so that the bug stays fixed.
"""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readback.contract import MAX_BODY_BYTES
from tests.fuzz import chat_body, connection, refusals, work
from tests.worst_cases import counting
from tests.worst_cases.api import BODIES, MOST_PER_REQUEST, request

FOLDER = Path(__file__).parent
WORDS = [
    ast.literal_eval(f"b{line}")
    for line in (FOLDER / "dictionary.txt").read_text().splitlines()
    if line.startswith('"')
]
MODEL = '"vendor-cabinet-preview-echo"'
NAMES = st.sampled_from(
    ["model", "messages", "stream", "max_tokens", "n", "mod\\u0065l", "role", ":"]
    + ["temperature", "sk-echo-aaaaaaaaaa", "my sk-proj-aaaaaaaaaa", "поле", "x" * 50]
)
VALUES = st.sampled_from(
    ["null", "true", "false", "0", "2000", "2000.0", "2e3", '""', '"user"', "[]", "{}"]
    + ['"x"', MODEL, '[{"role":"user","content":"a:b"}]', '"\\u003a"', '":"']
    + ['[{"role":"user","content":"\\ud800"}]', '[{"role":"user","role":"user"}]']
    + ['[{"role":"system","content":"x"},{"role":"x","content":[{}],"name":1}]']
)


@pytest.mark.parametrize(
    "path",
    sorted(path for path in (FOLDER / "corpus").rglob("*") if path.is_file()),
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_an_input_of_the_corpus_breaks_no_promise(path: Path) -> None:
    import_module(f"tests.fuzz.{path.parent.name}").check(path.read_bytes())


@pytest.mark.parametrize(
    "path",
    sorted((FOLDER / "corpus" / "connection").iterdir()),
    ids=lambda path: path.name,
)
def test_one_cut_anywhere_changes_no_answer(path: Path) -> None:
    """TCP may deliver a head in two segments, or three requests in one."""
    connection.check_every_cut(path.read_bytes())


@cache
def corpus(target: str) -> list[bytes]:
    return [
        path.read_bytes() for path in sorted((FOLDER / "corpus" / target).iterdir())
    ]


@st.composite
def inputs(draw: st.DrawFn, target: str) -> bytes:
    """Join inputs from the corpus, and replace some of their bytes."""
    parts = st.sampled_from(corpus(target)) | st.binary(max_size=200)
    raw = b"".join(draw(st.lists(parts, min_size=1, max_size=4)))
    at = int(draw(st.floats(0, 1)) * len(raw))
    other = draw(st.just(b"") | st.sampled_from(WORDS) | st.binary(max_size=8))
    return raw[:at] + other + raw[at + draw(st.integers(0, 30)) :]


# Not `work`, which counts instructions in another process.
@pytest.mark.parametrize("target", ["connection", "chat_body", "refusals"])
@settings(max_examples=200)
@given(data=st.data())
def test_no_bytes_break_a_promise(target: str, data: st.DataObject) -> None:
    import_module(f"tests.fuzz.{target}").check(data.draw(inputs(target)))


@settings(max_examples=200)
@given(st.lists(st.tuples(NAMES, VALUES), max_size=6), st.sampled_from([":", " : "]))
def test_no_members_of_a_body_break_a_promise(
    members: list[tuple[str, str]], colon: str
) -> None:
    """Try repeated names, odd escapes, and white space around colons."""
    inner = ",".join(f'"{name}"{colon}{value}' for name, value in members)
    for target in (chat_body, refusals):
        target.check(f"{{{inner}}}".encode())


@pytest.mark.long  # it starts valgrind
def test_a_request_with_an_accepted_key_is_counted_in_full() -> None:
    if reason := counting.why_not():
        pytest.skip(reason)
    small = work.count(request(b"{}"))
    large = work.count(request(BODIES["numbers"](MAX_BODY_BYTES)))

    # If the key were refused, both requests would take the same amount of work.
    assert 4 * small < large <= MOST_PER_REQUEST
