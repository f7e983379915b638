"""The page that describes the soak."""

from pathlib import Path

from soak import clients

ROOT = Path(__file__).parents[2]


def test_the_page_describes_the_clients_that_there_are():
    page = (ROOT / "bench" / "README.md").read_text(encoding="utf-8")
    on_long_path = sum(role.clients for role in clients.ROLES if role.distant)
    assert f"**{clients.CLIENTS} clients**" in page
    assert f"{on_long_path} over a *long path*" in page
