"""The probe's arrows: cli → probe → shared facts; it runs without the server parts."""

import subprocess
import sys

SERVER_PARTS = {"django", "allauth", "gunicorn", "uvloop", "msgspec", "httptools"}
OTHER_PLANES = {"readback.api", "readback.cabinet", "readback.cli"}


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_probe_loads_no_server_part_and_no_plane() -> None:
    loaded = loaded_by("import readback.probe.walk, readback.probe.output.terminal")
    assert not loaded & (SERVER_PARTS | OTHER_PLANES)
    # The library that it can be asked to use is loaded only when it is.
    assert "openai" not in loaded


def test_the_command_line_loads_the_probe_only_when_it_is_asked_for() -> None:
    loaded = loaded_by("import readback.cli")
    assert "readback.probe" not in loaded
    assert "httpx" not in loaded
