"""docs/monitoring.md has every line that the server can log."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "readback"
PAGE = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
_LEVELS = {"warning", "error", "critical", "exception"}
# Texts that come from elsewhere, whose callers are listed below.
_COMPLAINTS = ("DependencyStatus", "Warning")


def messages(path: Path) -> Iterator[str]:
    """Return the fixed beginning of every message that a module logs or reports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        is_log = re.fullmatch(r"(self\.)?_?log\.(\w+)", name)
        if (is_log and is_log[2] in _LEVELS) or name in _COMPLAINTS:
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if texts:
                yield str(texts[-1] if name == "DependencyStatus" else texts[0])


def test_every_message_is_on_the_page():
    # The probe is a client, and logs nothing.
    modules = set(PACKAGE.rglob("*.py")) - set((PACKAGE / "probe").rglob("*.py"))
    found = {text for path in modules for text in messages(path)}
    fixed = {re.split(r"%\w|, so ", text)[0].rstrip(" :") for text in found}
    fixed -= {"", "%s"}

    assert len(fixed) >= 15
    assert {text for text in fixed if text not in PAGE} == set()


def test_the_sentences_of_a_start_are_those_of_the_code():
    rows = re.findall(r"^\| `.*", PAGE.partition("\n### Starts and stops")[2], re.M)
    code = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    sentences = [text for row in rows for text in re.findall("`(.+?)`", row)]
    assert len(sentences) >= 4
    for sentence in sentences:
        parts = re.split("…|signal 9", sentence)
        assert [part for part in parts if part.strip(" ;.") not in code] == []
