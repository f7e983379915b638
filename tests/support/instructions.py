"""Count the machine instructions of Python calls, with valgrind.

Instructions depend on the versions of Python and of the processor's architecture, but
neither on the speed of the machine nor on other programs. They include what a pattern,
a decoder or a copy does in C, which a count of bytecode does not.

`count` starts `python -m tests.support.instructions MODULE …` under valgrind. That
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
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
# The special instructions that valgrind recognises and a processor ignores
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
# Requests to callgrind (callgrind.h).
_BASE = ord("C") << 24 | ord("T") << 16
_DUMP, _ZERO, _START = _BASE, _BASE + 1, _BASE + 4
# The sizes at which a case is measured, as parts of its limit.
PARTS = (4, 2, 1)


class WorstCase(NamedTuple):
    """An input of a shape that costs much, up to the largest that is accepted."""

    name: str
    run: Callable[[Any], object]
    make: Callable[[int], Any]  # the input of about this size
    limit: int


def why_not() -> str:
    """Return why nothing can be counted here; empty if it can."""
    if not shutil.which("valgrind"):
        return "valgrind is not installed"
    if platform.machine() not in _CLIENT_REQUEST:
        return f"no instructions of {platform.machine()} are known"
    return ""


def count(*modules: str) -> dict[str, list[int]]:
    """Return the instructions of each case, at each part of its limit."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *("valgrind", "--tool=callgrind", "--instr-atstart=no"),
                *(f"--callgrind-out-file={folder}/out", f"--log-file={folder}/log"),
                *(sys.executable, "-m", __name__, *modules),
            ],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            check=True,
        )
        names = done.stdout.splitlines()
        counted = [_total(Path(folder) / f"out.{n + 1}") for n in range(len(names))]
    return {
        name: counted[at : at + len(PARTS)]
        for at, name in enumerate(names)
        if at % len(PARTS) == 0
    }


def _total(path: Path) -> int:
    found = re.search(r"^(?:totals|summary): (\d+)", path.read_text(), re.MULTILINE)
    assert found, "valgrind counted nothing"
    return int(found[1])


def main(modules: Sequence[str]) -> None:
    """Measure all cases; print the name of each as often as it is measured."""
    request = _requester()
    cases = [case for name in modules for case in import_module(name).CASES]
    for case in cases:  # Python specialises its bytecode while it runs
        for _ in range(3):
            case.run(case.make(case.limit // 64))
    gc.disable()
    request(_START)
    for case, part in _measurements(cases):
        given = case.make(case.limit // part)
        request(_ZERO)
        case.run(given)
        request(_DUMP)
        print(case.name)


def _measurements(cases: Sequence[WorstCase]) -> Iterator[tuple[WorstCase, int]]:
    for case in cases:
        for part in PARTS:
            yield case, part


def _requester() -> Callable[[int], None]:
    code = _CLIENT_REQUEST[platform.machine()]
    protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    page = mmap.mmap(-1, len(code), prot=protection)
    page.write(code)
    function = ctypes.c_char.from_buffer(page)  # keeps the page
    call = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)
    arguments = (ctypes.c_size_t * 6)()

    def request(number: int) -> None:
        arguments[0] = number
        call(ctypes.addressof(function))(ctypes.addressof(arguments))

    return request


if __name__ == "__main__":
    main(sys.argv[1:])
