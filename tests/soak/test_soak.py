"""The command behind `make soak`, and the page that describes it."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from soak import clients

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("minutes", ["abc", "0", "-1", "0.5", "100000"])
def test_an_invalid_duration_is_refused(minutes):
    # Imported here, because no other test needs it.
    from soak.__main__ import main

    done = CliRunner().invoke(main, ["--minutes", minutes])

    assert done.exit_code == 2
    assert "Invalid value for '--minutes'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_page_describes_the_clients_that_there_are():
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    on_long_path = sum(role.clients for role in clients.ROLES if role.distant)
    assert f"**{clients.CLIENTS} clients**" in page
    assert f"{on_long_path} over a *long path*" in page
