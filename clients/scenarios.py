"""What happens to each client: the calls that are made, and what they showed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.database import Database
from tests.support.server import UNLIMITED, Server, ephemeral_server

from clients import environments, journal
from clients.calls import Call, call
from clients.drivers import Client
from clients.environments import NotInstalled
from clients.refusals import Refusals
from clients.relay import Relay, Request, Treatment
from readback import keys
from readback.config import DATABASE_NAME

CALL_SECONDS = 90
# A client that still tries again after this time is cut off.
RETRY_SECONDS = 120

DEFAULT, SETTINGS = "default", "settings"
WRONG_KEY, NO_VERSION = "wrong key", "no /v1"
EXTRA_FIELD, EXPLAINED = "extra field", "explained"
RATE_LIMITED, UNAVAILABLE = "rate limited", "unavailable"
KEY_AND_SPACE, KEY_AND_NEWLINE = "key and space", "key and newline"

# What the relay adds to the body of a client whose own request complies.
ADDED_FIELDS = {"temperature": 0.7}
EXPLAIN = {"Prefer": "explain"}
# Refusals of known keys, which are in the journal, by their status.
_IN_JOURNAL = (400, 404, 413, 415)
_MALFORMED = "malformed_request"


@dataclass(frozen=True)
class Result:
    """What was seen of one client."""

    client: str
    program: str
    runs: str
    version: str = ""
    not_run: str = ""
    """Why it could not run; empty if it did."""
    calls: dict[str, Call] = field(default_factory=dict)

    @property
    def variant(self) -> str:
        """The variant that complies; the one out of the box if none does."""
        settings = self.calls.get(SETTINGS)
        return SETTINGS if settings and settings.accepted else DEFAULT

    @property
    def complies(self) -> bool:
        return self.calls[self.variant].accepted

    @property
    def refused_out_of_the_box(self) -> int:
        """The status of a refusal out of the box; 0 if it is accepted."""
        default = self.calls[DEFAULT]
        if default.accepted or not default.requests:
            return 0
        return default.requests[-1].status


@dataclass(frozen=True)
class Site:
    """A running server, its database and the refusals of a server in trouble."""

    server: Server
    database: Database
    refusals: Refusals
    account: int

    def new_key(self) -> str:
        key = keys.mint()
        self.database.add_keys(self.account, [key])
        return key


@contextmanager
def site(refusals: Refusals) -> Iterator[Site]:
    """Run a server without rates, and an account whose keys are the clients' own."""
    with (
        TemporaryDirectory(prefix="readback-clients-") as folder,
        ephemeral_server(Path(folder), UNLIMITED) as server,
    ):
        data = Path(server.environment["READBACK_DATA_DIR"])
        database = Database(f"sqlite:///{data / DATABASE_NAME}")
        account = database.add_account("clients@example.com")
        yield Site(server, database, refusals, account)


def run(client: Client, site: Site) -> Result:
    """Make all calls of one client; if it cannot run, the result says why."""
    result = Result(client.name, client.program, client.runs)
    try:
        command = environments.command(client)
        result = replace(result, version=environments.version(client))
    except NotInstalled as problem:
        return replace(result, not_run=str(problem))
    relay = Relay(site.server.base_url)
    with relay.running():
        caller = _Caller(command, relay, site)
        result.calls[DEFAULT] = caller.call(DEFAULT)
        if not result.calls[DEFAULT].accepted:
            result.calls[SETTINGS] = caller.call(SETTINGS)
        if not any(call.requests for call in result.calls.values()):
            shown = result.calls[DEFAULT].shown
            return replace(result, not_run=f"it sent nothing: {shown}", calls={})
        result.calls.update(caller.bad_requests(result))
        result.calls.update(caller.refused_calls(result.variant))
    return result


def is_refused_for_its_form(request: Request) -> bool:
    """Return whether a request got past its key."""
    return request.status in _IN_JOURNAL and request.code != _MALFORMED


@dataclass(frozen=True)
class _Caller:
    """Makes the calls of one client, each with its own key."""

    command: list[str]
    relay: Relay
    site: Site

    def bad_requests(self, result: Result) -> dict[str, Call]:
        """Let the client be refused with 400; add a field if it sends none itself.

        A client that no variant makes comply is refused for its own request.
        """
        if not result.complies or result.refused_out_of_the_box == 400:
            explained = Treatment(added_headers=EXPLAIN)
            return {EXPLAINED: self.call(DEFAULT, treatment=explained)}
        added = Treatment(added_fields=ADDED_FIELDS)
        explained = replace(added, added_headers=EXPLAIN)
        return {
            EXTRA_FIELD: self.call(result.variant, treatment=added),
            EXPLAINED: self.call(result.variant, treatment=explained),
        }

    def refused_calls(self, variant: str) -> dict[str, Call]:
        key, refusals = self.site.new_key(), self.site.refusals
        limited = Treatment(answer=refusals.rate_limited)
        unavailable = Treatment(answer=refusals.unavailable)
        return {
            # Well-formed, but it belongs to nobody, so it has no journal.
            WRONG_KEY: self.call(variant, key=keys.mint(), journal_is_kept=False),
            NO_VERSION: self.call(variant, base_url=self.relay.root_url),
            RATE_LIMITED: self.call(variant, treatment=limited),
            UNAVAILABLE: self.call(variant, treatment=unavailable),
            KEY_AND_SPACE: self.call(variant, key=f"{key} "),
            KEY_AND_NEWLINE: self.call(variant, key=f"{key}\n"),
        }

    def call(
        self,
        variant: str,
        key: str = "",
        base_url: str = "",
        treatment: Treatment | None = None,
        journal_is_kept: bool = True,
    ) -> Call:
        """Make a call with a new key and the right address, unless others are given."""
        self.relay.treatment = treatment or Treatment()
        key = key or self.site.new_key()
        made = call(
            self.command,
            self.relay,
            base_url or self.relay.base_url,
            key,
            variant,
            RETRY_SECONDS if treatment and treatment.answer else CALL_SECONDS,
        )
        refused = sum(is_refused_for_its_form(one) for one in made.requests)
        if not (refused and journal_is_kept):
            return made
        found = journal.differences(self.site.database, key.strip(), refused)
        return replace(made, differences=found)
