"""The files that a container build gets, according to .dockerignore.

These are the rules of Docker and Podman: patterns are relative to the root; the last
one that matches a file or one of its parents decides; `*` matches within a name, `**`
across folders; `!` includes a file again.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def is_sent(path: str) -> bool:
    """Return whether a build gets the file at this path, relative to the root."""
    parts = path.split("/")
    parents = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    sent = True
    for pattern, lets_in in _rules():
        if any(pattern.fullmatch(parent) for parent in parents):
            sent = lets_in
    return sent


def files() -> Iterator[Path]:
    """Return the files of this checkout that a build gets."""
    tops = {rule.split("/")[0] for rule in _lines() if rule.startswith("!")}
    for top in tops:
        path = ROOT / top[1:]
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_file() and is_sent(file.relative_to(ROOT).as_posix()):
                yield file


def copy_to(folder: Path) -> None:
    """Copy the files that a build gets."""
    for file in files():
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)


def _lines() -> list[str]:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _rules() -> Iterator[tuple[re.Pattern[str], bool]]:
    for line in _lines():
        text = re.escape(line.removeprefix("!"))
        text = text.replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
        yield re.compile(text), line.startswith("!")
