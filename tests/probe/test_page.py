"""`--report` writes an HTML page that loads nothing and says what `--verbose` says."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from readback.probe.output import text
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
    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_page_loads_and_runs_nothing() -> None:
    shown = text.as_page(report_of(WORKS, WARNING, REFUSED, SKIPPED))
    tags = Tags(shown)
    assert not {"script", "link", "img", "iframe", "object"} & set(tags.names)
    assert not {"src", "href", "style", "onload"} & tags.attributes
    assert "default-src 'none'" in shown
    assert "url(" not in shown and "@import" not in shown


def test_what_a_server_said_cannot_become_markup() -> None:
    hostile = replace(REFUSED, sentence="<script>alert(1)</script>", figure="<b>")
    shown = text.as_page(report_of(hostile))
    assert "<script" not in shown and "<b>&lt;" not in shown
    assert "&lt;script&gt;" in shown


def test_the_page_says_what_the_long_text_says() -> None:
    report = report_of(WORKS, WARNING, REFUSED, SKIPPED)
    shown = re.search("<pre>(.*)</pre>", text.as_page(report), re.DOTALL)
    assert unescape(re.sub("<[^<>]*>", "", shown[1])) == text.as_long(report)


def test_a_run_writes_the_page_beside_its_output(
    readback: Server, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text("an older report")
    done = run(readback.base_url, "--report", str(file), key=readback.api_key)
    shown = file.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "Works: every text was returned unchanged." in shown
    assert readback.api_key not in shown
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("name", ["missing/report.html", "."])
def test_a_file_that_cannot_be_written_costs_only_the_page(
    name: str, tmp_path: Path
) -> None:
    done = run(NOWHERE, "--report", str(tmp_path / name))
    assert done.returncode == 1
    assert "The report cannot be written: " in done.stderr
    assert "Fails at" in done.stdout
