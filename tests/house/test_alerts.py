"""The alerts and the dashboard use existing metrics; alerts fire during their faults.

promtool, from Prometheus, evaluates the rules while one fault at a time is present.
The other tests do not need it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from readback.processes import metrics
from tests.house.alert_faults import (
    ALSO,
    BEGIN,
    END,
    FAULTS,
    HEALTHY,
    LAST,
    LONG_STEPS,
    MINUTES_PER_STEP,
)
from tests.support.promtool import run_promtool

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
GRAFANA = ROOT / "deploy" / "grafana"
PAGE = (ROOT / "docs" / "runbook.md").read_text()
SHIPPED = yaml.load((PROMETHEUS / "alerts.yml").read_text(), yaml.CSafeLoader)
RULES = SHIPPED["groups"][0]["rules"]
ALERTS = {rule["alert"]: rule for rule in RULES}
METRICS = {*metrics.COMMON, *metrics.API, *metrics.CABINET}
DASHBOARD = json.loads((GRAFANA / "dashboard.json").read_text())
LINK = re.compile(r"\{\{ \$externalLabels\.cabinet_url \}\}/docs/runbook#([\w-]+)")


def firing(minute: int, names: set[str]) -> dict[str, Any]:
    """Return a promtool check that exactly these alerts fire."""
    return {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"}) > bool 0',
        "eval_time": f"{minute}m",
        "exp_samples": [
            {"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(names)
        ],
    }


def story(alert: str) -> dict[str, Any]:
    """Return a promtool test of one fault: before, during and long after it."""
    series = HEALTHY | FAULTS[alert]
    minutes = LONG_STEPS.get(alert, MINUTES_PER_STEP)
    return {
        "name": alert,
        "interval": f"{minutes}m",
        "input_series": [
            {"series": name, "values": values} for name, values in series.items()
        ],
        "promql_expr_test": [
            firing((BEGIN - 1) * minutes, set()),
            firing((END - 1) * minutes, {alert, ALSO.get(alert, alert)}),
            firing(LAST * minutes, set()),
        ],
    }


@pytest.mark.long
def test_each_alert_fires_during_its_fault_and_at_no_other_time(tmp_path):
    tests = {
        "rule_files": [str(PROMETHEUS / "alerts.yml")],
        "evaluation_interval": f"{MINUTES_PER_STEP}m",
        "tests": [story(alert) for alert in FAULTS],
    }
    path = tmp_path / "alerts.test.yml"
    path.write_text(yaml.safe_dump(tests, width=1000))

    run_promtool("test", "rules", str(path))


def test_each_alert_has_a_fault():
    assert FAULTS.keys() == ALERTS.keys()


def names_in(text: str) -> set[str]:
    """Return the metrics that an expression names."""
    used = re.findall(r"\breadback_(\w+?)(?:_(?:bucket|sum|count))?\b", text)
    return set(used)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_is_complete_and_uses_metrics_that_exist(name):
    notes = ALERTS[name]["annotations"]
    assert ALERTS[name]["labels"]["severity"] in ("page", "ticket")
    assert notes["summary"] and notes["description"]
    assert names_in(ALERTS[name]["expr"]) <= METRICS


def test_the_table_of_faults_has_every_alert_with_its_link_and_severity():
    rows = re.findall(r"^\| \[`(\w+)`\]\(#([\w-]+)\) \| (\w+) \| ", PAGE, re.M)
    expected = [
        (
            name,
            LINK.fullmatch(rule["annotations"]["runbook_url"])[1],
            rule["labels"]["severity"],
        )
        for name, rule in ALERTS.items()
    ]
    # test_links.py tests that the anchors exist.
    assert sorted(rows) == sorted(expected)


def panels() -> Iterator[dict[str, Any]]:
    for panel in DASHBOARD["panels"]:
        yield from [panel, *panel.get("panels", [])]


def test_every_panel_says_what_it_shows_and_uses_metrics_that_exist():
    shown = [panel for panel in panels() if panel["type"] != "row"]
    assert len({panel["id"] for panel in panels()}) == len(list(panels()))
    for panel in shown:
        assert panel["description"].endswith("."), panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            used = names_in(target["expr"])
            assert used <= METRICS, panel["title"]


def test_the_dashboard_shows_every_metric():
    queries = [each["expr"] for panel in panels() for each in panel.get("targets", ())]
    assert names_in(" ".join(queries)) == METRICS
