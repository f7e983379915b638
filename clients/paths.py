"""The folders and files of this package."""

from pathlib import Path

CLIENTS = Path(__file__).parent
ROOT = CLIENTS.parent
DRIVERS = CLIENTS / "drivers"
NODE = CLIENTS / "node"
# One file of locked versions for each environment.
LOCKS = CLIENTS / "python"
RESULTS = CLIENTS / "results.json"
PAGE = ROOT / "docs" / "clients.md"
# Not under version control: the environments of the Python clients.
WORKSPACE = ROOT / ".clients"
