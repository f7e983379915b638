"""Properties of answers that tests/conformance cannot check."""

import json
from uuid import UUID

import pytest

from readback.api.endpoints.replies import Replies
from readback.contract import REFUSALS


@pytest.mark.parametrize("row", REFUSALS.values(), ids=lambda row: row.code)
def test_every_refusal_can_be_shown_in_a_header(row: object) -> None:
    for text in (row.sentence, row.hint):  # type: ignore[attr-defined]
        assert text.isascii() and text.isprintable() and text.endswith(".")


def test_without_a_cabinet_there_is_no_link() -> None:
    assert b"\r\nLink:" not in Replies().refusal("not_found")


def test_the_setting_puts_the_sentence_into_the_body_of_every_refusal() -> None:
    _, body = Replies(with_messages=True).refusal("not_found", "No.").split(b"\r\n\r\n")
    assert json.loads(body) == {"error": {"code": "not_found", "message": "No."}}


def test_ten_thousand_ids_are_random_uuids() -> None:
    replies = Replies()
    ids = [UUID(replies.new_id()).hex for _ in range(10_000)]
    assert len(set(ids)) == len(ids)
    # RFC 9562 §5.4: version 4 and the variant take six bits; all others are random.
    digits = dict.fromkeys(range(32), set("0123456789abcdef"))
    digits |= {12: {"4"}, 16: set("89ab")}
    assert {place: {each[place] for each in ids} for place in digits} == digits
