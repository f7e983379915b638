"""Start the probe from the file that the cabinet hands out.

This is also the first file that an unsupported Python reads, so its syntax must be
valid even in Python 2.7.
"""

import os
import platform
import sys

if sys.version_info < (3, 9):  # noqa: UP036
    sys.exit(
        "The probe needs Python 3.9 or newer, and this is Python "
        + platform.python_version()
        + ": run it with a newer one, for example with python3.12 instead of python3."
    )

from readback.probe.command import main
from readback.probe.common.background import end_process

if __name__ == "__main__":
    end_process(main(program=os.path.basename(sys.argv[0])))
