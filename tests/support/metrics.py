"""A server's metrics and readiness, from its ops listener."""

import json
import re
import urllib.error
import urllib.request

from tests.support.waiting import PATIENCE

_SAMPLE = re.compile(r"^readback_(\w+?)(?:\{(.*)\})? ([0-9.e+]+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def metrics(ops_url: str) -> dict[str, int]:
    """Return the metrics that have no labels, by name without `readback_`."""
    return {name: int(float(n)) for name, labels, n in _samples(ops_url) if not labels}


def requests_by_outcome(ops_url: str) -> dict[tuple[str, str], int]:
    """Return the number of answered requests, by endpoint and code."""
    counts = {}
    for name, labels, number in _samples(ops_url):
        if name == "requests_total" and float(number):
            found = dict(_LABEL.findall(labels))
            counts[found["endpoint"], found["code"]] = int(float(number))
    return counts


def requests_by_time(ops_url: str) -> dict[float, int]:
    """Return how many measured requests are in each bucket, by its upper bound."""
    return {
        float(dict(_LABEL.findall(labels))["le"]): int(float(number))
        for name, labels, number in _samples(ops_url)
        if name == "request_seconds_bucket"
    }


def readiness(ops_url: str, check: str = "/readyz") -> tuple[int, list[str]]:
    """Return the status of a check and the problems that it lists."""
    try:
        with urllib.request.urlopen(f"{ops_url}{check}", timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)["errors"]
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal)["errors"]


def is_ready(ops_url: str) -> bool:
    """Return whether the API is ready; unlike /readyz, this does not delay a stop."""
    with urllib.request.urlopen(f"{ops_url}/status", timeout=PATIENCE) as answer:
        return bool(json.load(answer)["status"] == "ready")


def _samples(ops_url: str) -> list[tuple[str, str, str]]:
    with urllib.request.urlopen(f"{ops_url}/metrics", timeout=PATIENCE) as answer:
        return _SAMPLE.findall(answer.read().decode())
