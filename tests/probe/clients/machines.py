"""Machines to make predictions for."""

from collections.abc import Mapping
from pathlib import Path

from readback.probe.clients.settings import Machine

NOWHERE = Path("/does/not/exist")


def machine(variables: Mapping[str, str], folder: Path = NOWHERE) -> Machine:
    """Return a machine with these variables and one folder, its home."""
    return Machine(variables, folder, folder)
