"""What a provider publishes is told from what is not JSON, whatever it is."""

import gzip

import pytest
from tests.support.peers import answer, peer

from readback.cabinet.serving import provider_documents
from readback.cabinet.serving.provider_documents import ProviderError


@pytest.mark.parametrize("body", [b"[" * 100_000, b"1" * 5_000, b"\xff", b""])
def test_what_cannot_be_read_as_json_is_said_to_be_no_json(body):
    with (
        peer(answer(body)) as server,
        pytest.raises(ProviderError, match="is not JSON"),
    ):
        provider_documents.configuration(server.url)


def test_a_document_is_read_up_to_a_mebibyte_however_well_it_is_compressed():
    body = b'{"issuer": "%b"}' % (b"x" * provider_documents.MAX_DOCUMENT_BYTES)
    for sent in (answer(body), answer(gzip.compress(body), b"Content-Encoding: gzip")):
        with peer(sent) as server, pytest.raises(ProviderError, match="1048576 bytes"):
            provider_documents.configuration(server.url)
