"""What a provider publishes is bounded in bytes, however it is sent."""

import pytest
from readback.cabinet.single_sign_on import provider_documents
from readback.cabinet.single_sign_on.provider_documents import (
    BoundedSession,
    ProviderError,
)
from tests.support.peers import OK, answer, peer

CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def chunks(count: int, size: int) -> bytes:
    part = b"%x\r\n%s\r\n" % (size, b"x" * size)
    return part * count + b"0\r\n\r\n"


def test_many_small_chunks_are_not_a_large_answer():
    with peer(CHUNKED, chunks(2_000, 3)) as server, BoundedSession() as session:
        assert session.get(server.url).content == b"x" * 6_000


def test_a_large_answer_is_refused_in_few_chunks_and_in_many():
    for size in (10, 30_000):
        answered = (CHUNKED, chunks((1 << 20) // size + 2, size))
        with peer(*answered) as server, pytest.raises(ProviderError, match="not valid"):
            provider_documents.configuration(server.url)


@pytest.mark.parametrize("body", [b"[" * 100_000, b"1" * 5_000, b"\xff", b""])
def test_what_cannot_be_read_as_json_is_said_to_be_no_json(body):
    with (
        peer(answer(body)) as server,
        pytest.raises(ProviderError, match="is not JSON"),
    ):
        provider_documents.configuration(server.url)
