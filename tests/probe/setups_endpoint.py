"""Sets up scenarios with an API that is not a Readback, or hides that it is one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.probe import provider
from tests.probe.relay import Response
from tests.probe.setups import Arrange, ProbeInput, Resources


def at_provider(
    key: str = provider.KEY, chat: str | None = None, **behavior: object
) -> Arrange:
    """The address is that of a provider that behaves in this way."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        with provider.provider(**behavior) as server:
            yield ProbeInput(server.base_url, key, timeout=5.0, chat=chat)

    return arrange


@contextmanager
def readback_key_elsewhere(resources: Resources) -> Iterator[ProbeInput]:
    with provider.provider() as server:
        yield ProbeInput(server.base_url, resources.readback.api_key)


def strip_headers(response: Response) -> Response:
    """Remove every header whose name starts with X-, as some gateways do."""
    kept = {k: v for k, v in response.headers.items() if not k.startswith("X-")}
    return replace(response, headers=kept)
