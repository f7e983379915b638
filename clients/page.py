"""The page docs/clients.md, written from the results and the table of programs."""

from collections.abc import Iterable, Iterator
from http import HTTPStatus

from clients import results
from clients.calls import Call
from clients.paths import PAGE
from clients.scenarios import (
    ADDED_FIELDS,
    DEFAULT,
    EXPLAIN,
    EXPLAINED,
    KEY_AND_NEWLINE,
    KEY_AND_SPACE,
    RATE_LIMITED,
    RETRY_SECONDS,
    SETTINGS,
    UNAVAILABLE,
    WRONG_KEY,
    Result,
    is_refused_for_its_form,
)
from readback import programs
from readback.programs import Program

_INTRODUCTION = """\
# Clients

Every client on this page was run against a live server on {date}: it sent one
message, `Ready to copy?`, as its own documentation shows it. `make clients` runs them
again and writes this page. [Settings for specific programs](programs.md) covers more.

A relay between the client and the server recorded what arrived; the differences from
[the contract](contract.md) are those in the journal of the key. *Out of the box* means
that only the address, the key and the model were set.

Each refusal is a real one:

- 401: the key has the right form but belongs to no account.
- 404: the base URL lacks `/v1`.
- 400: the client's own request differs from the contract; if it does not, the relay
  added the field `{added}`. *Explained* is the same request with the header
  `{explain}`; an option of the key has the same effect.
- 429 and 503: a server was brought to its limits, and the relay repeated its answer,
  with `Retry-After`, to every request, so that all attempts could be counted. A client
  that was still trying after {seconds} seconds was cut off.
"""


def write() -> None:
    date, found = results.load()
    PAGE.write_text(markdown(date, found.values()), encoding="utf-8")


def markdown(date: str, found: Iterable[Result]) -> str:
    rows = sorted(found, key=_order)
    ran = [result for result in rows if not result.not_run]
    introduction = _INTRODUCTION.format(
        date=date,
        added=next(iter(ADDED_FIELDS)),
        explain=": ".join(next(iter(EXPLAIN.items()))),
        seconds=RETRY_SECONDS,
    )
    parts = [
        introduction,
        "## What works\n",
        *_table(
            "client | version | works | what to set | out of the box, it differs in"
            " | User-Agent",
            (_overview(result) for result in rows),
        ),
        "\n## How often a client tries again\n",
        "How many requests arrive for one call, and how long the client runs for it.\n",
        *_table(
            "client | 429 with `Retry-After` | 503 with `Retry-After`",
            (_attempts(result) for result in ran),
        ),
        "\n## A key with white space at its end\n",
        "A space or a line break is easily copied with a key. It is harmless if the "
        "client removes it, and a space even if the client sends it. Other clients do "
        "not send the request, and most of them do not say why.\n",
        *_table("a space at its end | clients", _white_space(ran, KEY_AND_SPACE)),
        "",
        *_table(
            "a line break at its end | clients", _white_space(ran, KEY_AND_NEWLINE)
        ),
        "\n## What the user sees\n",
        "Grouped by what a user sees of a refused key, and whether they see the "
        "explanation if it is asked for. Clients of other APIs get 404, not 401.\n",
        *_table(
            "a refusal shows | the explanation is shown | clients | example",
            _displays(ran),
        ),
    ]
    return "\n".join(parts).rstrip() + "\n"


def title(result: Result) -> str:
    """Return the name of a client: its program, and its version if there are more."""
    several = "@" in result.client
    return f"{result.program} {result.version}" if several else result.program


def _order(result: Result) -> tuple[int, str]:
    """Sort as the table of programs does."""
    names = [row.name for row in programs.table()]
    known = result.program in names
    return (names.index(result.program) if known else len(names), result.client)


def _table(head: str, rows: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {head} |"
    yield "|" + " --- |" * (head.count("|") + 1)
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _overview(result: Result) -> list[str]:
    name = title(result) + (f" ({result.runs})" if result.runs else "")
    if result.not_run:
        return [name, "", f"not run: {_cell(result.not_run)}", "", "", ""]
    default = result.calls[DEFAULT]
    agents = dict.fromkeys(one.user_agent for one in default.requests)
    differences = ", ".join(f"`{one}`" for one in default.differences)
    return [
        name,
        result.version,
        _works(result),
        _program(result).setup.replace("|", "\\|") or "nothing",
        differences or "nothing",
        ", ".join(f"`{_cell(agent)}`" for agent in agents) or "none",
    ]


def _works(result: Result) -> str:
    if result.calls[DEFAULT].accepted:
        return "out of the box"
    return "with settings" if result.variant == SETTINGS else "never"


def _program(result: Result) -> Program:
    [found] = [row for row in programs.table() if row.name == result.program]
    return found


def _attempts(result: Result) -> list[str]:
    calls = (result.calls[RATE_LIMITED], result.calls[UNAVAILABLE])
    return [title(result), *(_attempt(call) for call in calls)]


def _attempt(call: Call) -> str:
    if call.exit_code is None:
        return f"{len(call.requests)}, cut off after {RETRY_SECONDS} s"
    return f"{len(call.requests)} in {call.seconds:.0f} s"


def _white_space(found: Iterable[Result], scenario: str) -> Iterator[list[str]]:
    """Group the clients by what became of such a key."""
    outcomes: dict[str, list[str]] = {}
    for result in found:
        outcome = _key_outcome(result.calls[scenario])
        outcomes.setdefault(outcome, []).append(title(result))
    for outcome, titles in sorted(outcomes.items()):
        yield [outcome, ", ".join(titles)]


def _key_outcome(call: Call) -> str:
    if call.accepted:
        return "accepted"
    if not call.requests:
        return f"not sent: {_local_error(call.shown)}"
    last = call.requests[-1]
    if last.status == HTTPStatus.NOT_FOUND:
        return "not tested: the path is refused first"
    if is_refused_for_its_form(last):
        return "accepted"
    return f"refused with {last.status} `{last.code}`"


def _local_error(shown: str) -> str:
    if "Connection error." in shown:
        return "`Connection error.`"
    return "an error about the header" if "header" in shown.lower() else "another error"


def _displays(found: Iterable[Result]) -> Iterator[list[str]]:
    """Group the clients by what their users see of a refusal."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in found:
        groups.setdefault(_display(result), []).append(result)
    for (plain, explained), members in sorted(groups.items(), reverse=True):
        titles = ", ".join(title(result) for result in members)
        example = min((_refused_key(result) for result in members), key=len)
        yield [plain, explained, titles, example]


def _display(result: Result) -> tuple[str, str]:
    """Return what a user sees of a refusal, and of one that explains itself."""
    refused = result.calls[WRONG_KEY]
    shown, last = refused.shown, refused.requests[-1]  # a wrong path gets 404
    has_status, has_code = str(last.status) in shown, str(last.code) in shown
    plain = ["nothing of it", "the code", "the status", "the status and the code"]
    if (call := result.calls.get(EXPLAINED)) is None:
        return plain[has_code + 2 * has_status], "not tested"
    is_seen = " is not accepted" in call.shown or " must " in call.shown
    return plain[has_code + 2 * has_status], "yes" if is_seen else "no"


def _refused_key(result: Result) -> str:
    return _seen(result.calls[WRONG_KEY])


def _seen(call: Call) -> str:
    if not call.shown:
        return "nothing until it was cut off" if call.exit_code is None else "nothing"
    return f"`{_cell(call.shown)}`"


def _cell(text: str) -> str:
    """Return text that a cell of a table can show as code."""
    return text.replace("`", "'").replace("|", "\\|")
