"""`--report`: one HTML page that loads nothing and shows where the path breaks."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from readback.probe.common.catalogue import diagnose
from readback.probe.output import page
from tests.probe.test_command import run
from tests.probe.test_report import (
    REFUSED,
    SKIPPED,
    WARNING,
    WORKS,
    report_of,
)
from tests.support.server import Server

NOWHERE = "http://127.0.0.1:1/v1"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_page_loads_and_runs_nothing() -> None:
    text = page.as_page(report_of(WORKS, WARNING, REFUSED, SKIPPED))
    tags = Tags(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(tags.names)
    assert not {"src", "href", "style", "onload"} & tags.attributes
    assert "default-src 'none'; style-src 'sha256-" in text
    assert "url(" not in text and "@import" not in text


def test_what_a_server_said_cannot_become_markup() -> None:
    hostile = replace(REFUSED, sentence="<script>alert(1)</script>", figure="<b>")
    text = page.as_page(report_of(hostile))
    assert "<script" not in text and "<b>&lt;" not in text
    assert "&lt;script&gt;" in text


def test_the_path_breaks_at_the_verdict() -> None:
    report = report_of(WORKS, REFUSED, SKIPPED)
    steps = ("dns", "tcp", "tls")
    results = [one._replace(step=step) for one, step in zip(report.results, steps)]  # noqa: B905
    text = page.as_page(report_of())
    assert "breaks here" not in text
    text = page.as_page(replace(report, results=results))
    stations = re.findall(r'<li class="([a-z ]+)">.*?<b>([^<]+)</b>', text)
    assert [(name, kind) for kind, name in stations][:4] == [
        ("you", "skip"),
        ("DNS", "ok"),
        ("TCP and proxy", "fail break"),
        ("TLS", "skip"),
    ]


def test_a_failure_of_the_proxy_breaks_the_path_there() -> None:
    refused = diagnose("proxy.login_refused", proxy="127.0.0.1:3128", variable="x")
    report = report_of(WORKS, refused)
    results = [one._replace(step="tls") for one in report.results]
    text = page.as_page(replace(report, results=results))
    assert "<b>TCP and proxy</b><span>breaks here</span>" in text


def test_a_run_writes_the_page_beside_its_output(
    readback: Server, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text("an older report")
    done = run(readback.base_url, "--report", str(file), key=readback.api_key)
    text = file.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "Works: every text was returned unchanged." in text
    assert readback.api_key not in text
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("name", ["missing/report.html", "."])
def test_a_file_that_cannot_be_written_is_an_error_before_the_run(
    name: str, tmp_path: Path
) -> None:
    done = run(NOWHERE, "--report", str(tmp_path / name))
    assert done.returncode == 2
    assert "The file of --report cannot be written: " in done.stderr
    assert done.stdout == ""
