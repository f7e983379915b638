"""The probe imports no server package and no other part of Readback."""

import subprocess
import sys

SERVER_PACKAGES = {"django", "allauth", "gunicorn", "uvloop", "msgspec", "httptools"}
OTHER_PARTS = {"readback.api", "readback.cabinet", "readback.cli"}


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_probe_loads_no_server_package_and_no_other_part() -> None:
    names = ("command", "runner", "output.text", "output.page")
    loaded = loaded_by("import " + ", ".join(f"readback.probe.{one}" for one in names))
    assert not loaded & (SERVER_PACKAGES | OTHER_PARTS)
    # The file that the cabinet hands out contains neither.
    assert not loaded & {"click", "httpx"}
    # Other programs run in processes of their own.
    assert "openai" not in loaded


def test_the_options_are_read_before_anything_large_is_loaded() -> None:
    loaded = loaded_by("import readback.probe.command")
    assert not loaded & {"certifi", "rich", "ssl", "readback.probe.runner"}


def test_the_command_line_loads_the_probe_only_on_demand() -> None:
    loaded = loaded_by("import readback.cli")
    assert "readback.probe" not in loaded
