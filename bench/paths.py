"""The folders of the benchmark."""

from pathlib import Path

BENCH = Path(__file__).parent
ROOT = BENCH.parent
PEERS = BENCH / "peers"
# Not under version control: the programs of the peers, and results of trial runs.
WORKSPACE = ROOT / ".bench"
GO_FILES = WORKSPACE / "go"
GO_PROGRAM = WORKSPACE / "go_http"
VENV = WORKSPACE / "venv"
