"""Inviting many people: what a list may look like, and what becomes of each line."""

import pytest
from django.contrib.admin.models import LogEntry

from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts.invitations import (
    MAX_ADDRESSES,
    invitation_find,
    invite_many,
)
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.models import Invitation, OutgoingMail, User
from tests.cabinet.outgoing import sending, wait_until_sent
from tests.cabinet.owners import ALICE, BOB, account, logged_in
from tests.cabinet.sign_up_setting import sign_up_for
from tests.cabinet.visitor import Visitor, text_of, words_of

DATABASES = ["sqlite"]
PAGE = "/admin/cabinet/invitation/add/"
CAROL = "carol@example.org"

pytestmark = pytest.mark.usefixtures("unsent_mails")


@pytest.fixture
def operator() -> Visitor:
    made = account("operator@example.org")
    User.objects.update(is_staff=True, is_superuser=True)
    return logged_in(made)


LISTS = {
    "lines": f"{ALICE}\n{BOB}\r\n{CAROL}\r",
    "one line": f"{ALICE}, {BOB};{CAROL}",
    "a mail program": f'"Doe, Alice" <{ALICE}>; Bob <{BOB}>, <mailto:{CAROL}>',
    "quoted": f"'{ALICE}' \"{BOB}\" ({CAROL})",
    "other forms": f"\ufeff ALICE@Example.ORG \n\n\n{BOB}\t\n{CAROL}",
    "csv": f"Name,E-mail,Manager\nA,{ALICE},x@x.org\nB,{BOB},x@x.org\nC,{CAROL},",
    "csv with semicolons": f'Имя;Почта\n"Доу; Алиса";{ALICE}\nБоб;{BOB}\nК;{CAROL}',
    "csv with tabs": f"email\tname\n{ALICE}\tA\n{BOB}\tB\n{CAROL}\tC",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_addresses_are_found_in_any_form(text):
    results = invite_many(text)

    assert [each.outcome for each in results] == ["invited"] * 3
    assert [each.email for each in results] == [ALICE, BOB, CAROL]
    assert Invitation.objects.count() == OutgoingMail.objects.count() == 3


def test_what_is_wrong_is_said_line_by_line_and_the_rest_is_done():
    account_services.account_create(BOB, confirmed=True)
    inactive = account_services.account_create("gone@example.org", confirmed=True)
    account_services.account_deactivate(inactive)
    lines = [
        ALICE,
        "not an address",
        "x@",
        "ßß@example.org",
        "alice@[127.0.0.1]",
        BOB,
        "gone@example.org",
        "Alice@example.org",
        CAROL,
    ]
    results = invite_many("\n".join(lines))

    assert [each.line for each in results] == list(range(1, 10))
    assert [each.outcome.value for each in results] == [
        "invited",
        *["wrong"] * 4,
        "has_account",
        "wrong",
        "already_invited",
        "invited",
    ]
    problems = {each.line: each.problem for each in results if each.problem}
    assert "no e-mail address" in problems[2]
    assert "valid e-mail address" in problems[3]
    assert "Activate it" in problems[7]


def test_a_list_can_be_repeated_without_another_mail_or_a_dead_link():
    invite_many(f"{ALICE}\n{BOB}")
    made = invitation_find(ALICE).created_at
    again = invite_many(f"{ALICE}\n{BOB}\n{CAROL}")

    outcomes = [each.outcome.value for each in again]
    assert outcomes == ["already_invited", "already_invited", "invited"]
    assert invitation_find(ALICE).created_at == made
    assert OutgoingMail.objects.count() == 3


def test_too_many_are_refused_before_anybody_is_invited():
    with pytest.raises(ServiceError, match="at most 1000"):
        invite_many("\n".join(f"a{n}@example.org" for n in range(MAX_ADDRESSES + 1)))
    assert not Invitation.objects.exists()


def test_an_operator_pastes_a_list_and_corrects_what_is_wrong(operator):
    answer = operator.send(PAGE, {"addresses": f"{ALICE}\nbob@\n<script>@x"})

    words = words_of(answer)
    assert "Invited: 1." in words and "What is wrong" in words
    assert "2 bob@ Enter a valid e-mail address." in words
    assert "<script>@" not in text_of(answer)
    assert "\nbob@" in text_of(answer)  # is in the field again
    again = words_of(operator.send(PAGE, {"addresses": f"{ALICE}\n{BOB}"}))
    assert "Invited: 1." in again and "or an account: 1." in again
    assert LogEntry.objects.count() == 2
    assert Invitation.objects.get(email=ALICE).invited_by.email.startswith("operator")
    assert "is required" in words_of(operator.send(PAGE, {"addresses": " "}))
    with sign_up_for("example.com"):
        refused = words_of(operator.send(PAGE, {"addresses": CAROL}))
    assert "READBACK_SIGNUP only allows" in refused


def test_each_person_of_a_long_list_gets_a_mail(operator, mail_server):
    mail_server.messages.clear()
    addresses = [f"person-{number}@example.org" for number in range(40)]
    answer = operator.send(PAGE, {"addresses": "\n".join(addresses)})

    assert "Invited: 40." in words_of(answer)
    assert LogEntry.objects.count() == OutgoingMail.objects.count() == 40
    with sending():
        wait_until_sent()
    assert {mail["To"] for mail in mail_server.messages} == set(addresses)


def test_the_form_has_room_for_the_longest_list(operator):
    addresses = "\n".join(f"somebody.{n}@mail.example.org" for n in range(1001))
    assert "at most 1000" in words_of(operator.send(PAGE, {"addresses": addresses}))
