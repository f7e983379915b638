"""Limits on outgoing e-mail, per mailbox and per sender, per hour and per day."""

import pytest
from allauth.account.models import EmailAddress

from readback.cabinet.accounts import services as account_services
from readback.cabinet.keys import services as key_services
from readback.cabinet.mail import outbox as mail_limits
from readback.cabinet.models import OutgoingMail, User
from tests.cabinet.outgoing import wait_until_sent
from tests.cabinet.visitor import PASSWORD, Visitor, words_of

ALICE, BOB = "alice@example.org", "bob@example.org"
RESET = "/accounts/password/reset/"
HOUR, DAY = 3600, 86400

pytestmark = pytest.mark.usefixtures("unsent_mails")


def reset(clock, email: str, sender: str = "203.0.113.7") -> int:
    # Let the limits per minute expire first.
    clock[0] += 61
    return Visitor(address=sender).post(RESET, {"email": email}).status_code


def senders(number: int) -> list[str]:
    return [f"198.51.100.{n}" for n in range(1, number + 1)]


@pytest.mark.parametrize(
    ("address", "mailbox"),
    [
        ("Alice@Example.ORG", ALICE),
        ("alice+one@example.org", ALICE),
        ("alice+one+two@example.org", ALICE),
        ("alice.smith@example.org", "alice.smith@example.org"),
        ("alice@sub+x.example.org", "alice@sub+x.example.org"),
    ],
)
def test_tags_and_case_do_not_make_another_mailbox(address, mailbox):
    assert mail_limits.mailbox(address) == mailbox


@pytest.mark.parametrize("known", [True, False], ids=["account", "no account"])
def test_one_sender_gets_six_mails_an_hour_to_one_mailbox(clock, mails, known):
    if known:
        account_services.account_create(ALICE, PASSWORD, confirmed=True)
    tagged = [f"alice+{n}@example.org" for n in range(3)]

    seen = [reset(clock, email) for email in (*tagged, ALICE, ALICE, ALICE, ALICE)]

    assert seen == [302] * 6 + [429]
    wait_until_sent()
    assert len(mails.messages) == 6
    clock[0] += HOUR
    assert reset(clock, ALICE) == 302


SERIES = {
    "/accounts/signup/": {"password1": PASSWORD},
    RESET: {},
    "/accounts/login/": {"password": "wrong, but long enough"},
}


@pytest.mark.parametrize("path", SERIES)
def test_a_series_of_tries_does_not_tell_whether_there_is_an_account(clock, path):
    account_services.account_create("confirmed@example.org", PASSWORD, confirmed=True)
    account_services.account_create("unconfirmed@example.org", PASSWORD)
    inactive = account_services.account_create("inactive@example.org", PASSWORD)
    account_services.account_deactivate(inactive)

    def answers(number: int, name: str, pause: float) -> list[tuple[int, str]]:
        visitor = Visitor(address=f"198.51.100.{number}")
        seen = []
        for _ in range(9):
            clock[0] += pause
            field = "login" if "login" in path else "email"
            email = f"{name}@example.org"
            answer = visitor.post(path, {field: email, **SERIES[path]})
            words = words_of(answer) + words_of(visitor.get("/accounts/login/"))
            seen.append((answer.status_code, words.replace(name, "NAME")))
        return seen

    for pause in (0, 61, 200):
        clock[0] += 2 * DAY
        names = ("confirmed", "unconfirmed", "inactive", f"unknown-{pause}")
        found = [answers(*each, pause) for each in enumerate(names)]
        assert found == [found[0]] * len(names), pause


def test_a_mailbox_gets_twenty_mails_an_hour_whoever_asks(clock):
    seen = [reset(clock, ALICE, sender) for sender in senders(21)]

    assert seen == [302] * 20 + [429]
    assert reset(clock, BOB, senders(1)[0]) == 302


def test_a_mailbox_gets_sixty_mails_a_day(clock):
    for _ in range(3):
        assert {reset(clock, ALICE, sender) for sender in senders(20)} == {302}
        clock[0] += HOUR

    assert reset(clock, ALICE) == 429
    clock[0] += DAY
    assert reset(clock, ALICE) == 302


def test_a_sender_gets_sixty_mails_an_hour_to_any_mailboxes(clock):
    seen = []
    for n in range(61):
        clock[0] += 4  # twenty in a minute are allowed
        answer = Visitor().post(RESET, {"email": f"alice{n}@example.org"})
        seen.append(answer.status_code)

    assert seen == [302] * 60 + [429]


def test_a_logged_in_sender_is_counted_by_account(clock):
    account_services.account_create(ALICE, PASSWORD, confirmed=True)
    owner = Visitor()
    owner.log_in(ALICE)

    seen = []
    for n in range(7):
        clock[0] += 181
        fields = {"email": f"bob+{n}@example.org", "action_add": ""}
        seen.append(owner.send("/accounts/email/", fields).status_code)

    assert seen == [302] * 6 + [429]


def test_the_answer_above_a_limit_is_the_same_for_every_address(clock):
    account_services.account_create(ALICE, PASSWORD, confirmed=True)
    account_services.account_create(BOB, PASSWORD)
    pages = []
    for email in (ALICE, BOB, "nobody@example.org"):
        for _ in range(6):
            reset(clock, email)
        clock[0] += 61
        pages.append(Visitor().send(RESET, {"email": email}))

    assert {page.status_code for page in pages} == {429}
    assert {page.headers["Retry-After"] for page in pages} == {"3600"}
    [words] = {words_of(page) for page in pages}
    assert "Too many attempts" in words and "Try again in 1 hour" in words


def test_a_sign_up_above_a_limit_creates_nothing(clock):
    for _ in range(6):
        reset(clock, ALICE)

    response = Visitor().sign_up(ALICE)

    assert response.status_code == 429
    assert not User.objects.exists()
    assert not EmailAddress.objects.exists()
    clock[0] += HOUR
    assert Visitor().sign_up(ALICE).status_code == 302
    assert User.objects.count() == 1


def test_mails_that_strangers_ask_for_do_not_use_up_the_notices(
    alice, owner, clock, mails
):
    for sender in senders(21):
        last = reset(clock, ALICE, sender)
    assert last == 429

    owner.send("/keys/", {"label": "my laptop"})

    assert alice.keys.count() == 1
    mails.wait_for(ALICE, "New key")


def test_notices_are_limited_and_the_change_is_made_anyway(
    alice, owner, clock, mails, monkeypatch
):
    monkeypatch.setattr(
        "allauth.account.app_settings.RATE_LIMITS", {"notice_to": "2/h/key"}
    )
    for _ in range(3):
        owner.send("/keys/", {"label": "my laptop"})

    assert alice.keys.count() == 3
    wait_until_sent()
    assert len(mails.to(ALICE)) == 2
    # Notices that a command causes are not limited.
    key_services.key_create(alice)
    wait_until_sent()
    assert len(mails.to(ALICE)) == 3
    assert not OutgoingMail.objects.exists()
