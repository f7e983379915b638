"""What to set in a program is Russian on Russian pages; names of settings are not."""

import re

import pytest
from django.utils import translation

from readback import programs
from readback.cabinet.keys import services
from tests.cabinet.owners import account, logged_in, refused
from tests.cabinet.visitor import words_of

DATABASES = ["sqlite"]

# Words of our sentences, which are no part of a setting's name.
ENGLISH = re.compile(
    r"\b(leave|unset|instead of|without|must|because|which|call the|turn off|"
    r"send|pass the|add the|install|for each|or leave)\b"
)

pytestmark = pytest.mark.usefixtures("unsent_mails")


def test_the_journal_says_in_russian_what_to_set():
    alice = account()
    key = services.key_create(alice, "laptop").key
    fields = {"user_agent": "pydantic-ai/2.66.0", "differences": "temperature top_p"}
    refused(key, "unknown_field", 400, **fields)

    english = words_of(logged_in(alice).get(f"/keys/{key.pk}/"))
    russian = words_of(logged_in(alice, "ru").get(f"/keys/{key.pk}/"))

    assert "leave top_p unset in model_settings" in english
    assert "не задавайте top_p в model_settings" in russian
    assert "leave top_p unset" not in russian


@pytest.mark.parametrize("row", programs.table(), ids=lambda row: row.name)
def test_every_switch_of_a_program_is_translated(row):
    with translation.override("ru"):
        texts = [translation.gettext(text) for text in row.switches.values()]
    assert not [text for text in texts if ENGLISH.search(text)]


# Words of what to set and of what was read, which the names of settings do not have.
ENGLISH_SETUP = re.compile(
    r"\b(nothing|always|needs?|which|for (a|an|its)|in (a|an|the)|its|was run|"
    r"with settings|the (same|check|test|header|prefix|list|set-up))\b"
)


@pytest.mark.parametrize("row", programs.table(), ids=lambda row: row.name)
def test_what_to_set_in_a_program_is_translated(row):
    with translation.override("ru"):
        texts = [translation.gettext(text) for text in (row.setup, row.version) if text]
    code = re.compile(r"`[^`]*`")
    for text in texts:
        assert not ENGLISH_SETUP.search(code.sub("", text)), text
        assert not ENGLISH.search(code.sub("", text)), text
