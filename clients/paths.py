"""The folders and files of this package."""

from pathlib import Path

CLIENTS = Path(__file__).parent
ROOT = CLIENTS.parent
DRIVERS = CLIENTS / "drivers"
# One folder of locked packages for each environment of Node.
NODE = {path.parent.name: path.parent for path in CLIENTS.glob("*/package.json")}
# One file of locked versions for each environment.
LOCKS = CLIENTS / "python"
RESULTS = CLIENTS / "results.json"
PAGE = ROOT / "docs" / "clients.md"
# Not under version control: the installed environments.
WORKSPACE = ROOT / ".clients"
