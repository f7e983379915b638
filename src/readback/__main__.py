"""Start the command line: `readback`, or `python -m readback`."""

import sys


def main() -> None:
    if sys.argv[1:2] == ["probe"]:
        from readback.probe.common import stop_with_one_line

        stop_with_one_line()
    from readback.cli import main as command_line

    command_line(prog_name="readback")


if __name__ == "__main__":
    main()
