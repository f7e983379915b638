"""How the clients handle failures and delays: the second table of docs/programs.md.

Each client sends one message with a rehearsal key of one step, which fails or waits
every time. How many requests arrived, and when, is read from the journal of the key.
"""

import re
from pathlib import Path

from clients import environments
from clients.calls import SETTINGS, Site
from clients.drivers import Client

STEPS = ("429", "503", "500", "wait30")
# The step whose output the last column shows.
PRINTED = "503"
PAGE = Path(__file__).parents[1] / "docs" / "programs.md"
_BEGIN, _END = (f"[//]: # (rehearsals: {word})" for word in ("begin", "end"))
_HEAD = (
    "| client | 429 | 503, 500, wait30 | prints for 503 |\n| --- | --- | --- | --- |\n"
)
# The table shows at most this much of a line that a client prints.
_SHOWN_CHARACTERS = 60
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def row(client: Client, site: Site) -> str:
    """Return the row of a client; raise `NotInstalled` if it cannot run."""
    command = environments.command(client)
    name = client.name.partition("@")[0]
    cells: list[str] = []
    printed = ""
    for step in STEPS:
        key = site.add_key(step)
        call = site.call(command, SETTINGS, key=key)
        cells.append("accepted" if call.accepted else _cell(*site.arrived(key)))
        if step == PRINTED:
            printed = _last_line(call.output)
    version = environments.version(client)
    # Four columns fit on a phone.
    return f"| {name} {version} | {cells[0]} | {', '.join(cells[1:])} | {printed} |\n"


def write(rows: list[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    table = f"{_BEGIN}\n\n{_HEAD}{''.join(sorted(rows))}\n{_END}"
    PAGE.write_text(before + table + after, encoding="utf-8")


def _cell(requests: int, seconds: float) -> str:
    return "1" if requests == 1 else f"{requests} in {seconds:.0f} s"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    shown = _ID.sub("…", lines[-1] if lines else "").replace("|", "\\|")
    if len(shown) > _SHOWN_CHARACTERS:
        shown = f"{shown[:_SHOWN_CHARACTERS]}…"
    return f"`{shown.replace('`', chr(39))}`" if shown else "nothing"
