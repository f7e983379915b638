"""Python programs as processes that do not import a client's library again.

Each program is a process of its own with its own arguments, environment, folder, output
and exit code, forked from one that has imported the library. To import openai takes a
second of CPU time, and langchain three.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

# Reads a program in each line, and writes its exit code.
_FORKS = """
import gc, importlib, json, os, runpy, sys

for name in sys.argv[1:]:
    importlib.import_module(name)
# Otherwise each child would copy what was imported, to look for garbage in it.
gc.freeze()
for line in sys.stdin:
    program = json.loads(line)
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
        continue
    for descriptor, path in enumerate((os.devnull, program["out"], program["err"])):
        opened = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        os.dup2(opened, descriptor)
    os.environ.clear()
    os.environ.update(program["environment"])
    os.chdir(program["folder"])
    sys.argv = program["words"]
    runpy.run_path(sys.argv[0], run_name="__main__")
    break
"""


class WarmPython:
    """Runs one program at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._lock = Lock()

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> "subprocess.CompletedProcess[str]":
        """Run a file with its arguments to its end."""
        with tempfile.TemporaryDirectory(prefix="program-") as place, self._lock:
            out, err = Path(place, "out"), Path(place, "err")
            program = {
                "words": list(words),
                "environment": dict(environment),
                "folder": str(folder),
                "out": str(out),
                "err": str(err),
            }
            assert self._process.stdin and self._process.stdout
            self._process.stdin.write(json.dumps(program) + "\n")
            self._process.stdin.flush()
            exit_code = int(self._process.stdout.readline())
            texts = [path.read_text(encoding="utf-8") for path in (out, err)]
            return subprocess.CompletedProcess(words, exit_code, *texts)


@contextmanager
def warm_python(*modules: str) -> Iterator[WarmPython]:
    """Import these modules, and no module of the folder that a program is in."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", _FORKS, *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield WarmPython(process)
