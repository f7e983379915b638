"""Sets up machines on which other programs would not do what the probe does."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tests.probe.forward_proxy import LOGIN, forward_proxy
from tests.probe.setups import (
    Arrange,
    ProbeInput,
    Resources,
    behind_tls,
)


def with_variables(variables: Callable[[Resources], Mapping[str, str]]) -> Arrange:
    """The service works, and these variables are set."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        readback = resources.readback
        yield ProbeInput(
            readback.base_url, readback.api_key, environment=variables(resources)
        )

    return arrange


def with_private_store(**variables: str) -> Arrange:
    """SSL_CERT_FILE names a private authority, and these variables are set as well."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        with behind_tls()(resources) as probe_input:
            environment = {**probe_input.environment, **variables}
            yield replace(probe_input, environment=environment)

    return arrange


@contextmanager
def proxy_for_this_machine(resources: Resources) -> Iterator[ProbeInput]:
    with forward_proxy() as proxy:
        url = f"http://{LOGIN}@127.0.0.1:{proxy.server_port}"
        readback = resources.readback
        yield ProbeInput(
            readback.base_url, readback.api_key, environment={"http_proxy": url}
        )


@contextmanager
def login_in_netrc(resources: Resources) -> Iterator[ProbeInput]:
    file = resources.folder / "netrc"
    file.write_text("machine 127.0.0.1 login alice password hush\n")
    readback = resources.readback
    yield ProbeInput(
        readback.base_url, readback.api_key, environment={"NETRC": str(file)}
    )
