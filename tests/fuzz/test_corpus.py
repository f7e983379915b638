"""Every input of the corpus keeps the promises of its target.

What the fuzzer has found is added to the corpus, so that it stays fixed.
"""

from importlib import import_module
from pathlib import Path

import pytest

CORPUS = Path(__file__).parent / "corpus"
INPUTS = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_an_input_breaks_no_promise(path: Path) -> None:
    target = import_module(f"tests.fuzz.{path.parent.name}")
    target.check(path.read_bytes())
