"""Start the command line: `readback`, or `python -m readback`."""

from readback.cli import main as command_line


def main() -> None:
    command_line(prog_name="readback")


if __name__ == "__main__":
    main()
