"""The accounts of people who log in with the provider: find, connect or create one.

A person is identified by the issuer and the issuer's name for them. Only at the first
login does the address matter: it decides which account is theirs. Nothing here depends
on requests or pages.
"""

from enum import StrEnum
from typing import NamedTuple

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import translation
from django.utils.translation import gettext as _

from readback.cabinet.account_rules import may_sign_up
from readback.cabinet.accounts import selectors, services, sessions
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.mail import notices
from readback.cabinet.models import User

# What a login is for, beside allauth's own values: to prove again who it is.
AGAIN = "again"
# The clocks of two machines differ.
LEEWAY_SECONDS = 60


class Identity(NamedTuple):
    """A person as the provider knows them, with an address that it has verified."""

    issuer: str
    subject: str
    email: str


class LoginRefusal(StrEnum):
    """Why a person whom the provider knows is not let in; the event of the log.

    Each has a page in templates/single_sign_on.
    """

    UNVERIFIED = "provider_refused_unverified"
    CLOSED = "provider_refused_closed"
    UNCONFIRMED = "provider_refused_unconfirmed"
    INACTIVE = "provider_refused_inactive"
    CONNECTED = "provider_refused_connected"
    OTHER_PERSON = "provider_refused_other_person"


class LoginRefusedError(Exception):
    def __init__(self, refusal: LoginRefusal, account: User | None = None) -> None:
        super().__init__(refusal)
        self.refusal = refusal
        self.account = account


def account_of_person(person: Identity) -> SocialAccount:
    """Return the connection to the person's account, which is created if need be.

    Raise `LoginRefusedError` if there is none and there must not be one.
    """
    try:
        return _account_of_person(person)
    except IntegrityError:
        # The same person has logged in twice at once.
        return _account_of_person(person)


@transaction.atomic
def _account_of_person(person: Identity) -> SocialAccount:
    known = SocialAccount.objects.filter(provider=person.issuer, uid=person.subject)
    if found := known.select_related("user").first():
        return found
    account = User.objects.select_for_update().filter(email=person.email).first()
    if account is None:
        return _create(person)
    if not account.is_active:
        raise LoginRefusedError(LoginRefusal.INACTIVE, account)
    # Companies give the address of somebody who has left to somebody else.
    if SocialAccount.objects.filter(provider=person.issuer, user=account).exists():
        raise LoginRefusedError(LoginRefusal.CONNECTED, account)
    if selectors.account_is_confirmed(account):
        name = settings.CONFIG.oidc_name
        notices.notify("provider_connected", account, provider=name)
        return _connect(person, account)
    # Anybody can have signed up with this address, and may know the password. Such an
    # account is replaced, as by a second sign-up; one that is in use never is.
    if may_sign_up(person.email) and services.account_discard_unused(person.email):
        return _create(person)
    raise LoginRefusedError(LoginRefusal.UNCONFIRMED, account)


@transaction.atomic
def account_disconnect(account: User) -> None:
    """Let the next person with the account's address connect; end all sessions."""
    rows = SocialAccount.objects.filter(user=account)
    if not rows.delete()[0]:
        raise ServiceError(_("This account is not connected with single sign-on."))
    sessions.sessions_end(account)
    name = settings.CONFIG.oidc_name
    notices.notify("provider_disconnected", account, provider=name)


def _create(person: Identity) -> SocialAccount:
    if not may_sign_up(person.email):
        raise LoginRefusedError(LoginRefusal.CLOSED)
    language = translation.get_language() or ""
    account = User.objects.create_user(person.email, language=language)
    services.email_add(account)
    notices.record("account_created", account=account.pk)
    return _connect(person, account)


def _connect(person: Identity, account: User) -> SocialAccount:
    """Connect them; of what the provider says, only its name for the person is kept."""
    return SocialAccount.objects.create(
        user=account, provider=person.issuer, uid=person.subject, extra_data={}
    )
