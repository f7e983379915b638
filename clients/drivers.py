"""The drivers: one small program for each client, found by listing their folder.

A driver is called as `NAME base_url api_key model variant`. It sends one message as the
client's own documentation shows it and prints the reply, or fails as its user would see
it. The variant is `default` (out of the box) or `settings` (with the switches of the
table of programs). Comments at the top of a driver say what it belongs to:

    program: the name of the entry in programs.toml
    environment: the environments that it runs in, see `environments`
    package: the one whose version is reported (omitted if that is Node itself)
"""

import re
from dataclasses import dataclass
from pathlib import Path

DRIVERS = Path(__file__).parent / "drivers"
SUFFIXES = {".py", ".mjs", ".sh"}
_HEADER = re.compile(r"^(?:#|//) (program|environment|package): (.+)$", re.M)


@dataclass(frozen=True)
class Client:
    """A driver in one environment."""

    name: str
    driver: Path
    program: str
    environment: str
    package: str


def all_clients() -> list[Client]:
    """Return every client, in the order of their names."""
    found = sorted(path for path in DRIVERS.iterdir() if path.suffix in SUFFIXES)
    return [client for driver in found for client in clients_of(driver)]


def clients_of(driver: Path) -> list[Client]:
    """Return the clients of one driver: one for each of its environments."""
    header = dict(_HEADER.findall(driver.read_text(encoding="utf-8")))
    environments = header["environment"].split()
    return [
        Client(
            name=driver.stem
            if len(environments) == 1
            else f"{driver.stem}@{environment}",
            driver=driver,
            program=header["program"],
            environment=environment,
            package=header.get("package", ""),
        )
        for environment in environments
    ]
