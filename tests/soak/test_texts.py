"""The texts are unique, acceptable, and contain all of Unicode."""

import json

from soak.calls import Calls
from soak.texts import CODE_POINTS, MAX_BYTES, Texts

from readback import keys
from readback.contract import MAX_BODY_BYTES
from tests.support.wire import Endpoint

MARKER = "marker-7"


def test_texts_are_unique_and_contain_all_of_unicode():
    texts = Texts(MARKER, seed=1)
    made: list[str] = []
    seen: set[str] = set()
    while texts.code_points < CODE_POINTS:
        made.append(texts.next())
        seen |= set(made[-1])

    assert len(seen) == CODE_POINTS
    assert len(set(made)) == len(made)
    assert all(text.startswith(MARKER) for text in made)
    sizes = [len(text.encode()) for text in made]
    assert max(sizes) == MAX_BYTES


def test_a_text_that_is_too_long_has_one_byte_too_many():
    assert len(Texts(MARKER, seed=1).too_long().encode()) == MAX_BYTES + 1


def test_every_request_is_small_enough_and_contains_the_marker_as_it_is():
    known = [keys.mint()]
    calls = Calls(Endpoint("127.0.0.1", 1), known, MARKER, seed=1)
    for _ in range(2000):
        call = calls.next(0)
        raw = b"".join(call.pieces)
        body = raw.partition(b"\r\n\r\n")[2]
        assert len(body) <= MAX_BODY_BYTES
        if call.text and b"chunked" not in raw:
            assert MARKER.encode() in body
            assert json.loads(body)["messages"][0]["content"] == call.text
