"""The balancer as we ship it: rates, distribution, log, TLS and limits."""

import re
import resource
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.fleet import balancer
from tests.fleet.fleet import REPLICAS, Fleet
from tests.support.api import MODELS, Api
from tests.support.haproxy import on_loopback
from tests.support.load import pipeline
from tests.support.programs import needed_program
from tests.support.waiting import wait_until
from tests.support.wire import request

# The API accepts all of these as the same key.
SPELLINGS = (
    *("Bearer {}", "bearer {}", "BEARER {}", "BeArEr {}"),
    *("Bearer  {}", "bearer   {}", "Bearer {}   ", "\tBearer {}\t"),
)
BURST = 1000
RATE = 20
"""A key's default rate, which the fleet uses."""


def test_a_key_has_one_rate_however_its_header_is_spelled(site: Fleet) -> None:
    [key] = site.new_keys(1)
    began = time.monotonic()
    counts: Counter[int] = Counter()
    for spelling in SPELLINGS:
        fields = [
            ("Host", balancer.API.authority),
            ("Authorization", spelling.format(key)),
        ]
        raw = request("GET", MODELS, fields)
        counts += pipeline(balancer.API, [raw] * 300)
    elapsed = time.monotonic() - began
    print(f"{counts[200]} of {counts.total()} passed in {elapsed:.1f} s")

    assert set(counts) == {200, 429}
    assert BURST <= counts[200] <= BURST + RATE * (elapsed + 1)


def test_keys_and_requests_without_a_key_reach_all_replicas(site: Fleet) -> None:
    before = replicas_in(site.balancer.log)
    for key in site.new_keys(60):
        assert site.ask(key) == 200
    with_key = replicas_in(site.balancer.log) - before
    assert set(with_key) == set(REPLICAS)
    assert min(with_key.values()) >= 5, with_key

    for _ in range(6):
        answer = Api(balancer.API, "").ask("GET", MODELS, [("Host", "x")])
        assert answer.status == 401
    without_key = replicas_in(site.balancer.log) - before - with_key
    assert set(without_key) == set(REPLICAS)


def test_the_log_of_the_balancer_contains_no_key(site: Fleet) -> None:
    keys = site.new_keys(3)
    assert {site.ask(key) for key in keys} == {200}
    assert MODELS in site.balancer.log
    assert not re.search("sk-echo-|[Bb]earer", site.balancer.log)
    assert not [key for key in keys if key[-6:] in site.balancer.log]


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_the_api_speaks_http_1_and_2_over_tls(site: Fleet, version: str) -> None:
    curl = needed_program("curl")
    [key] = site.new_keys(1)
    url = f"https://{balancer.TLS.authority}{MODELS}"
    trust = ["--cacert", str(site.balancer.root)]
    done = subprocess.run(
        [curl, "--silent", "--show-error", version, *trust, url]
        + ["--header", f"Authorization: Bearer {key}"]
        + ["--write-out", "\n%{http_version} %{response_code}"],
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert done.stdout.splitlines()[-1] == f"{version[6:].strip('p')} 200", done.stderr


@pytest.mark.parametrize("hard_limit", [1024, 4096, 524_288])
def test_the_balancer_starts_under_an_ordinary_limit_on_files(
    tmp_path: Path, hard_limit: int
) -> None:
    program = needed_program("haproxy")
    settings = tmp_path / "haproxy.cfg"
    # Here, HAProxy runs on this machine, and must not connect to any other.
    settings.write_text(on_loopback(balancer.SHIPPED.read_text(), "127.0.0."))
    hard = min(hard_limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    limited = ["sh", "-c", f'ulimit -Sn 1024 && ulimit -Hn {hard} && exec "$@"', "sh"]
    log = tmp_path / "log"
    command = [*limited, program, "-db", "-f", str(settings)]
    with balancer.haproxy(command, log, {}) as process:
        wait_until(
            lambda: (
                "no server available" in log.read_text() or process.poll() is not None
            ),
            "HAProxy runs and checks its servers",
        )
        assert process.poll() is None, log.read_text()


def replicas_in(log: str) -> Counter[str]:
    return Counter(re.findall(r" replicas/(\w+) \d", log))
