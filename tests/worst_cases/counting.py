"""Count the blocks of machine instructions that Python calls execute, with valgrind.

A block has no jump inside: at most fifty instructions, 13 on average here. The number
of blocks depends on the version of Python and on the processor's architecture, but
neither on the speed of the machine nor on other programs. It includes what a pattern, a
decoder or a copy does in C, which a count of bytecode does not. The valgrind tool that
only runs a program is the fastest, and it counts these blocks.

`count` starts `python -m tests.worst_cases.counting MODULE …` under valgrind. That
process measures every `WorstCase` in the table `CASES` of each module.
"""

import ctypes
import gc
import mmap
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
# Special instructions that valgrind recognizes and processors ignore
# (valgrind.h), as a function that takes the address of a request.
_CLIENT_REQUEST = {
    "x86_64": bytes.fromhex(
        "4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3"
    ),
    "aarch64": b"".join(
        word.to_bytes(4, "little")
        for word in (
            *(0xAA0003E4, 0xD2800003),
            *(0x93CC0D8C, 0x93CC358C, 0x93CCCD8C, 0x93CCF58C, 0xAA0A014A),
            *(0xAA0303E0, 0xD65F03C0),
        )
    ),
}
# The request to run a command of valgrind's monitor (valgrind.h), and the command that
# writes the number of blocks so far to the log.
_RUN_COMMAND = 0x1202
_COMMAND = b"v.info stats"
_COUNTED = re.compile(r"scheduler: ([0-9,]+) event checks")
# A case is measured at its limit divided by each of these.
PARTS = (4, 2, 1)


class WorstCase(NamedTuple):
    """A shape of expensive input, up to the largest that is accepted."""

    name: str
    run: Callable[[Any], object]
    make: Callable[[int], Any]  # returns an input of about this size
    limit: int


def why_not() -> str:
    """Return why this machine cannot count instructions; empty if it can."""
    if not shutil.which("valgrind"):
        return "valgrind is not installed"
    if platform.machine() not in _CLIENT_REQUEST:
        return f"no instructions of {platform.machine()} are known"
    return ""


def count(*modules: str) -> dict[str, list[int]]:
    """Return the number of blocks for each case, at each part of its limit."""
    with tempfile.NamedTemporaryFile() as log:
        done = subprocess.run(
            [
                *("valgrind", "--tool=none", f"--log-file={log.name}"),
                *(sys.executable, "-m", __name__, *modules),
            ],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            check=True,
        )
        text = Path(log.name).read_text()
    totals = [int(total.replace(",", "")) for total in _COUNTED.findall(text)]
    assert totals, "valgrind counted nothing"
    counted: dict[str, list[int]] = {}
    # valgrind logged a total before and after each measurement.
    for name, before, after in zip(
        done.stdout.splitlines(), totals[::2], totals[1::2], strict=True
    ):
        counted.setdefault(name, []).append(after - before)
    return counted


def main(modules: Sequence[str]) -> None:
    """Measure all cases; print the name of a case after each measurement."""
    write_total = _total_writer()
    cases = [case for name in modules for case in import_module(name).CASES]
    for case in cases:  # Python specializes its bytecode while it runs
        for _ in range(2):
            case.run(case.make(case.limit // 64))
    gc.disable()
    for case in cases:
        for part in PARTS:
            given = case.make(case.limit // part)
            write_total()
            case.run(given)
            write_total()
            print(case.name)


def _total_writer() -> Callable[[], None]:
    """Return a function that makes valgrind log the number of blocks so far."""
    code = _CLIENT_REQUEST[platform.machine()]
    protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    page = mmap.mmap(-1, len(code), prot=protection)
    page.write(code)
    function = ctypes.c_char.from_buffer(page)  # keeps the page mapped
    call = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)
    command = ctypes.create_string_buffer(_COMMAND)
    arguments = (ctypes.c_size_t * 6)(_RUN_COMMAND, ctypes.addressof(command))

    def write_total() -> None:
        # This reference keeps the command from being freed.
        arguments[1] = ctypes.addressof(command)
        call(ctypes.addressof(function))(ctypes.addressof(arguments))

    return write_total


if __name__ == "__main__":
    main(sys.argv[1:])
