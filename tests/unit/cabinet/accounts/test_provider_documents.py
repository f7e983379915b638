"""When a provider's configuration is read, and when a cached one is used."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.bad_oidc_providers import DISCOVERY, bad_provider, silent
from tests.support.waiting import wait_until

from readback.cabinet.accounts import provider_documents
from readback.cabinet.accounts.provider_documents import ProviderError, configuration


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    monkeypatch.setattr(provider_documents, "_remembered", {})


def test_a_configuration_is_read_again_only_after_a_while(monkeypatch):
    with bad_provider() as provider:
        for _ in range(3):
            assert configuration(provider.issuer)["issuer"] == provider.issuer
        assert provider.requests[DISCOVERY] == 1

        monkeypatch.setattr(provider_documents, "REMEMBERED_SECONDS", 0.0)
        provider_documents._remembered.clear()
        for _ in range(2):
            configuration(provider.issuer)
        assert provider.requests[DISCOVERY] == 3


def test_while_a_configuration_is_read_again_the_previous_one_is_used(monkeypatch):
    monkeypatch.setattr(provider_documents, "REMEMBERED_SECONDS", 0.0)
    with bad_provider() as provider:
        document = configuration(provider.issuer)
        provider.answers[DISCOVERY] = silent
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(configuration, provider.issuer)
            wait_until(lambda: provider.requests[DISCOVERY] == 2, "it is read again")
            assert configuration(provider.issuer) == document
            provider.stopped.set()
            with pytest.raises(ProviderError):
                reading.result()
