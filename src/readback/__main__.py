"""Run the command line with `python -m readback`."""

from readback.cli import main

if __name__ == "__main__":
    main(prog_name="readback")
