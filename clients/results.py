"""The results of the last run of each client, in a file that the page is made of."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from clients.calls import Call
from clients.paths import RESULTS
from clients.relay import Request
from clients.scenarios import Result


def load() -> tuple[str, dict[str, Result]]:
    """Return the day of the last run and the results by the name of the client."""
    if not RESULTS.is_file():
        return "", {}
    saved = json.loads(RESULTS.read_text(encoding="utf-8"))
    return saved["date"], {row["client"]: _result(row) for row in saved["clients"]}


def save(results: dict[str, Result]) -> None:
    rows = [asdict(result) for _, result in sorted(results.items())]
    day = datetime.now(UTC).date().isoformat()
    # One client per line, so that a new run of one changes one.
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    text = f'{{"date": "{day}", "clients": [\n{lines}\n]}}\n'
    RESULTS.write_text(text, encoding="utf-8")


def _result(row: dict[str, Any]) -> Result:
    calls = {name: _call(**call) for name, call in row.pop("calls").items()}
    return Result(**row, calls=calls)


def _call(*, requests: list[dict[str, Any]], **rest: Any) -> Call:
    return Call(requests=[Request(**one) for one in requests], **rest)
