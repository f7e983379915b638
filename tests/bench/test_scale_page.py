"""docs/scale*.md say what the results say, and their command works."""

import re
import shlex

import pytest
from bench import fleet, results, scale_page
from bench.__main__ import main
from bench.errors import MeasurementError
from bench.fleet import ADDRESSES, Ports, configuration
from bench.fleet_limits import limits_of
from bench.fleet_model import Demand, plan
from click.testing import CliRunner

PORTS = Ports(api=41_000, ops=41_001, http=41_002, tls=41_003)
SHIPPED = fleet.SHIPPED.read_text()


@pytest.fixture(scope="module")
def published():
    return results.read("scale")


def run(*arguments: str):
    return CliRunner().invoke(main, ["scale", *arguments])


def test_the_pages_and_the_plot_are_what_the_results_render(published):
    end = "[//]: # (bench: end)"
    for page, parts in scale_page.sections(published).items():
        for part, text in parts.items():
            expected = f"[//]: # (bench: {part})\n\n{text}\n\n{end}"
            assert expected in page.read_text(encoding="utf-8")
    figures = scale_page.published_figures()
    assert scale_page.PICTURE.read_text(encoding="utf-8") == scale_page.picture(figures)
    assert scale_page.PICTURE.stat().st_size < 60_000


def test_every_limit_of_the_model_has_a_next_step(published):
    figures = scale_page.published_figures()
    fleet = plan(figures, Demand.usual(1_000))

    assert {each.name for each in limits_of(fleet)} == set(scale_page.NEXT_STEPS)


def test_the_command_of_the_page_prints_a_fleet():
    page = scale_page.PAGE.read_text(encoding="utf-8")
    [line] = [each for each in page.splitlines() if "bench scale --model" in each]
    words = shlex.split(line)

    done = run(*words[words.index("scale") + 1 :])

    assert done.exit_code == 0, done.output
    assert "| keys in use | 2,000 |" in done.output


def test_without_a_rate_the_model_prints_the_table_of_the_page():
    done = run("--model")

    assert done.exit_code == 0
    assert done.output.strip() in scale_page.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--model", "--rate", "5000", "--keys", "200"], 1, "need at least 250 keys"),
        (["--model", "--rate", "0"], 2, "Invalid value for '--rate'"),
        (["--rate", "5000"], 2, "require --model"),
    ],
)
def test_an_impossible_demand_is_refused_in_one_sentence(arguments, code, words):
    done = run(*arguments)

    assert done.exit_code == code
    assert words in done.output


def test_the_balancer_of_the_benchmark_stays_on_loopback():
    text = configuration(SHIPPED, PORTS)

    addresses = re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", text)
    assert set(ADDRESSES.values()) <= set(addresses)
    assert all(each.startswith("127.") for each in addresses)


def test_a_listener_that_is_not_expected_is_refused():
    changed = SHIPPED.replace("bind :8080", "bind :9090")

    with pytest.raises(MeasurementError, match="not expected"):
        configuration(changed, PORTS)
