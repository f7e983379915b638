"""The page of a new key shows a command that installs and runs the probe."""

import re
from html import unescape

import pytest
from django.conf import settings

from readback.cli import main
from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import text_of

pytestmark = pytest.mark.usefixtures("mails")


def test_the_command_contains_the_address_but_not_the_key(mails):
    visitor = logged_in(account())
    path = visitor.send("/keys/", {"label": "laptop"}).headers["Location"]

    found = re.search(r'<code id="probe">([^<]+)</code>', text_of(visitor.get(path)))

    assert found
    install, run = unescape(found[1]).split(" && ")
    assert install == "pip install ."
    assert run == f"readback probe {settings.CONFIG.base_url}"
    assert "probe" in main.commands
