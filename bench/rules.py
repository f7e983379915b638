"""Which rules of the contract a peer follows, according to the conformance tests.

The tests are Readback's own. For a peer they compare only the status and the body, and
tests of explanations are left out: other servers send neither explanations nor the
headers that go with them.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench import install, servers
from bench.errors import MeasurementError
from bench.paths import ROOT
from bench.peer import Peer
from bench.progress import ProgressBar
from bench.results import ResultsFile

TESTS = "tests/conformance"
EXPLANATIONS = ("test_refusals.py",)
"""Files that test only explanations, or headers that other servers do not send."""
EXPLANATION_WORDS = ("sentence", "advice", "is_not_told")
"""Words in the names of tests of explanations in other files."""
_EXAMPLES = 3


def measure(peers: Iterable[Peer], progress: ProgressBar) -> None:
    """Check every peer that looks at requests; write `rules.json` after each."""
    chosen = [peer for peer in peers if not peer.is_limit]
    file = ResultsFile("rules", {"tests": TESTS}, published=True)
    rows: dict[str, Any] = file.data.setdefault("peers", {})
    progress.add_steps(len(chosen))
    for peer in chosen:
        progress.describe(f"checking the rules of {peer.title}")
        install.install(peer)
        row = check(peer)
        row["version"] = install.installed_version(peer)
        rows[peer.name] = {"title": peer.title, "family": peer.family} | row
        file.write()
        progress.finish_step(f"{peer.title}: {summary(row)}")
        for line in missed_rules(row):
            progress.print(f"  misses: {line}")


def check(peer: Peer) -> dict[str, Any]:
    """Run the tests against a peer; return the number of cases and those that fail."""
    keys = servers.prepare(peer)
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.running(peer, keys) as server,
    ):
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", TESTS, f"--junit-xml={report}"]
        command += ["-n", "2", "--dist", "loadscope", "--ignore-headers"]
        command += [f"--ignore={TESTS}/{name}" for name in EXPLANATIONS]
        command += ["-k", " and ".join(f"not {each}" for each in EXPLANATION_WORDS)]
        command += [f"--base-url=http://127.0.0.1:{server.port}/v1"]
        command += [f"--api-key={keys[0]}", f"--unused-key={keys[1]}"]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        if not report.is_file():
            raise MeasurementError("the conformance tests did not run")
        return count(report.read_text(encoding="utf-8"))


def count(report: str) -> dict[str, Any]:
    """Return how many cases ran, and the names of those that failed, by test."""
    cases: Counter[str] = Counter()
    missed: dict[str, list[str]] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        if case.find("skipped") is not None:
            continue
        test, _, parameters = case.attrib["name"].partition("[")
        sentence = test.removeprefix("test_").replace("_", " ")
        cases[sentence] += 1
        if any(case.find(word) is not None for word in ("failure", "error")):
            missed.setdefault(sentence, []).append(parameters.removesuffix("]"))
    return {
        "cases": cases.total(),
        "missed": {
            sentence: {"of": cases[sentence], "cases": sorted(missed[sentence])}
            for sentence in sorted(missed)
        },
    }


def summary(row: Mapping[str, Any]) -> str:
    failed = sum(len(each["cases"]) for each in row["missed"].values())
    if not failed:
        return f"keeps all {row['cases']:,}"
    return f"misses {failed:,} of {row['cases']:,}"


def missed_rules(row: Mapping[str, Any]) -> list[str]:
    """Return a line for each test that fails, with some of its cases."""
    return [
        f"{sentence} ({len(each['cases'])} of {each['of']}{_examples(each['cases'])})"
        for sentence, each in row["missed"].items()
    ]


def _examples(cases: Sequence[str]) -> str:
    # Leave out names that Markdown would not show unchanged.
    named = [f"`{case}`" for case in cases if case and "`" not in case]
    more = ", …" if len(named) > _EXAMPLES else ""
    return f": {', '.join(named[:_EXAMPLES])}{more}" if named else ""
