"""Run one client, and compare what it did with the table of programs."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from tests.support.database import Database
from tests.support.server import UNLIMITED, Server, ephemeral_server

from clients.drivers import Client
from readback import keys, programs
from readback.config import DATABASE_NAME
from readback.contract import MODEL

TEXT = "Ready to copy?"
ANOTHER_MODEL = "another-model"
EXPLANATION = f"model must be {MODEL}; got {ANOTHER_MODEL}. Set the model to {MODEL}."
# With this interval, the journal is written twice a second.
SETTINGS_OF_SERVER = UNLIMITED | {"READBACK_JOURNAL_INTERVAL": "0"}
DEFAULT = "default"
SETTINGS = "settings"
# LangChain for Node retries for two minutes.
CALL_SECONDS = 240
# A busy machine may take much longer than half a second to write the journal.
WRITTEN_SECONDS = 60
STABLE_SECONDS = 2

# No client may reach anything but the server: an HTTPS proxy that does not exist
# blocks telemetry, price lists and update checks.
_ISOLATED = {
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    # Some programs use the HTTPS proxy for everything.
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "PYTHONWARNINGS": "ignore",
}
_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Call:
    """What a client did for one call of its user."""

    accepted: bool
    """Whether the client succeeded and printed the text."""
    output: str
    differences: list[str]
    user_agents: list[str]
    """This and `differences` are read from the key's journal."""


@dataclass(frozen=True)
class Site:
    """A running server, and the account that owns the keys of the clients."""

    server: Server
    database: Database
    account: int

    def add_key(self, rehearsal: str = "") -> str:
        key = keys.mint()
        self.database.add_keys(self.account, [key], rehearsal)
        return key

    def call(
        self,
        command: list[str],
        variant: str,
        model: str = MODEL,
        *,
        key: str = "",
        explain: bool = False,
    ) -> Call:
        """Run a driver with the given key or a new one; kill it after CALL_SECONDS."""
        key = key or self.add_key()
        if explain:
            self.database.explain_refusals(key)
        with tempfile.TemporaryDirectory(prefix="readback-client-") as home:
            words = [*command, self.server.base_url, key, model, variant]
            exit_code, output = _run(words, home)
        rows = self._journal(key)
        return Call(
            accepted=exit_code == 0 and TEXT in output,
            output=output,
            differences=[name for row in rows for name in row[0].split()],
            user_agents=[row[1] for row in rows],
        )

    def arrived(self, key: str) -> tuple[int, float]:
        """Return how many requests with a key arrived, and over how many seconds.

        The time is accurate to half a second, the interval of the journal.
        """
        before = None
        rows = self.database.journal(key, "requests, at")
        while rows != before:
            time.sleep(STABLE_SECONDS)
            before = rows
            rows = self.database.journal(key, "requests, at")
        times = [datetime.fromisoformat(at) for _, at in rows]
        seconds = (max(times) - min(times)).total_seconds() if times else 0.0
        return sum(requests for requests, _ in rows), seconds

    def _journal(self, key: str) -> list[tuple[str, str]]:
        """Return the differences and the User-Agent of each kind of request."""
        deadline = time.monotonic() + WRITTEN_SECONDS
        while True:
            rows = self.database.rows(
                "SELECT differences, user_agent FROM cabinet_journalentry"
                " WHERE key_id = (SELECT id FROM cabinet_key WHERE digest = ?)",
                sha256(key.encode()).digest(),
            )
            if rows or time.monotonic() > deadline:
                return rows
            time.sleep(0.1)


@contextmanager
def site() -> Iterator[Site]:
    """Run a server without rate limits."""
    with (
        tempfile.TemporaryDirectory(prefix="readback-clients-") as folder,
        ephemeral_server(Path(folder), SETTINGS_OF_SERVER) as server,
    ):
        data = Path(server.environment["READBACK_DATA_DIR"])
        database = Database(f"sqlite:///{data / DATABASE_NAME}")
        yield Site(server, database, database.add_account("clients@example.com"))


def contradictions(client: Client, command: list[str], site: Site) -> list[str]:
    """Run a client; return where it differs from the table of programs."""
    row = next(row for row in programs.table() if row.name == client.program)
    default = site.call(command, DEFAULT)
    complies = "out of the box"
    if not default.accepted:
        adapted = site.call(command, SETTINGS)
        complies = "with settings" if adapted.accepted else "never"
    found = []
    if complies != row.complies:
        found.append(f"complies {complies}, not {row.complies}: {default.output}")
    if row.user_agent:
        if not any(map(row.user_agent.search, default.user_agents)):
            found.append(f"has the User-Agent {default.user_agents}")
        for name in default.differences:
            if not (row.library or row.switch(name) or row.cannot_remove(name)):
                found.append(f"differs in {name}")
    if row.prints:
        found += _prints_otherwise(row, command, site)
    return found


def _prints_otherwise(
    row: programs.Program, command: list[str], site: Site
) -> Iterator[str]:
    """Have a request refused; yield where the output differs from the table."""
    refused = site.call(command, SETTINGS, ANOTHER_MODEL).output
    if not all(part in refused for part in row.prints.split("…")):
        yield f"prints {refused!r}"
    explained = site.call(command, SETTINGS, ANOTHER_MODEL, explain=True).output
    # Other versions may print more around these parts.
    has_all = all(part in explained for part in row.explained.split("…"))
    if not has_all or (EXPLANATION in explained) != bool(row.explained):
        yield f"prints with an explanation {explained!r}"


def _run(words: list[str], home: str) -> tuple[int | None, str]:
    """Return the exit code, or None after a timeout, and all output."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            words,
            env=inherited | _ISOLATED | {"HOME": home},
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            exit_code: int | None = process.wait(CALL_SECONDS)
        except subprocess.TimeoutExpired:
            # Only the driver and what it started are in its group.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            exit_code = None
        output.seek(0)
        return exit_code, output.read().decode("utf-8", "replace")
