"""Announcements: written by operators, above every page, and nowhere else."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from readback.cabinet.models import Announcement, User
from readback.cabinet.serving import announcements, errors
from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import Visitor, text_of
from tests.cabinet.which_database import ON_BOTH

DATABASES = ["sqlite"]
ADD, LIST = "/admin/cabinet/announcement/add/", "/admin/cabinet/announcement/"
TEXT = "Back at 10:00. <b>See</b> https://status.example.org/"
RUSSIAN = "Вернёмся в 10:00."

pytestmark = pytest.mark.usefixtures("database")


def announce(text: str = TEXT, *, starts: float = -1, ends: float = 1, **fields: str):
    """Store an announcement that starts and ends these hours from now."""
    now = timezone.now()
    row = Announcement.objects.create(
        text_en=text,
        level=fields.pop("level", "maintenance"),
        starts_at=now + timedelta(hours=starts),
        ends_at=now + timedelta(hours=ends),
        **fields,
    )
    announcements.forget()
    return row


@pytest.fixture
def operator(database) -> Visitor:
    User.objects.filter(pk=account().pk).update(is_staff=True, is_superuser=True)
    return logged_in(User.objects.get())


def form(**changes: str) -> dict[str, str]:
    now = timezone.now()
    return {
        "text_en": TEXT,
        "text_ru": RUSSIAN,
        "level": "disruption",
        "starts_at": f"{now - timedelta(hours=1):%Y-%m-%dT%H:%M}",
        "ends_at": f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M}",
    } | changes


def test_an_operator_writes_one_and_ends_it(operator):
    assert operator.send(ADD, form()).status_code == 302
    english, russian = text_of(Visitor().get("/")), text_of(Visitor("ru").get("/"))
    link = '<a href="https://status.example.org/" rel="nofollow">'
    assert f"Back at 10:00. &lt;b&gt;See&lt;/b&gt; {link}" in english
    assert "<strong>Disruption:</strong>" in english
    assert f'<span lang="ru">{RUSSIAN}</span>' in russian

    row = Announcement.objects.get()
    change = f"{LIST}{row.pk}/change/"
    assert operator.send(change, form(text_en="", level="notice")).status_code == 302
    assert f'<span lang="ru">{RUSSIAN}</span>' in text_of(Visitor().get("/"))
    assert RUSSIAN in text_of(operator.get(LIST))
    operator.send(LIST, {"action": "end", "_selected_action": str(row.pk)})
    assert RUSSIAN not in text_of(Visitor().get("/"))
    assert LogEntry.objects.count() == 3


MISTAKES = {
    "at least one language": {"text_en": "", "text_ru": " "},
    "after the beginning": {"ends_at": "2020-01-01T00:00"},
    "Enter a valid date/time": {"starts_at": "tomorrow"},
    "at most 300": {"text_en": "x" * 301},
    "Select a valid choice": {"level": "panic"},
}


def test_a_mistake_is_explained(operator):
    for words, changes in MISTAKES.items():
        assert words in text_of(operator.send(ADD, form(**changes)))
    assert not Announcement.objects.exists()


def test_only_operators_can_write_one(database):
    for visitor in (Visitor(), logged_in(account())):
        assert visitor.get(ADD).status_code == 302
        assert visitor.post(ADD, form()).status_code == 302
    assert not Announcement.objects.exists()


@ON_BOTH
def test_it_is_shown_from_its_start_to_its_end_and_on_pages_alone(database):
    announce("now")
    announce("too early", starts=1, ends=2)
    announce("over", starts=-2, ends=-1)
    assert [str(each.text) for each in announcements.current()] == ["now"]
    for path in ("/", "/docs/", "/accounts/login/", "/missing"):
        page = text_of(Visitor().get(path))
        assert page.index(">now<") < page.index("<header>")
    for path in ("/address.json", "/openapi.yaml", "/healthz"):
        assert ">now<" not in Visitor().get(path).content.decode()


def test_at_most_three_are_shown_the_newest_last(database):
    for number in range(5):
        announce(str(number), starts=number / 10 - 1)
    assert [str(each.text) for each in announcements.current()] == ["2", "3", "4"]


def test_no_page_costs_a_statement_more(database, monkeypatch):
    announce()
    monkeypatch.setattr(announcements, "KEPT_SECONDS", 5.0)
    clock = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])

    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert len(announcements.current()) == 1
        return len(queries)

    assert [statements() for _ in range(3)] == [1, 0, 0]
    clock[0] += 4.9
    assert statements() == 0
    clock[0] += 0.2
    assert [statements() for _ in range(2)] == [1, 0]


def test_it_stays_while_the_database_is_down(database, monkeypatch):
    announce()
    assert announcements.current()
    monkeypatch.setattr(announcements, "KEPT_SECONDS", -1.0)

    def fail(*_: object) -> None:
        raise OperationalError("the server is gone")

    with connection.execute_wrapper(fail):
        assert len(announcements.current()) == 1
        try:
            fail()
        except OperationalError:
            page = errors.server_error(None)
    assert page.status_code == 503
    assert "Back at 10:00." in page.content.decode()
