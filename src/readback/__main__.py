"""`python -m readback`: the same as the command `readback`."""

from readback.cli import main

if __name__ == "__main__":
    main(prog_name="readback")
