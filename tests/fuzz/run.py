"""Run one target under atheris, with options for libFuzzer.

`python -m tests.fuzz` starts it in the environment that `install.py` creates.
"""

import importlib
import sys

import atheris


def main() -> None:
    target = sys.argv.pop(1)
    # Only what is imported here counts as covered.
    with atheris.instrument_imports(include=["readback"]):
        module = importlib.import_module(f"tests.fuzz.{target}")
    atheris.Setup(sys.argv, module.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
