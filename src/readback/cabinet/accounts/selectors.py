"""Queries on accounts, invitations, keys, usage, the journal and the address.

Never writes.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db.models import (
    Count,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Window,
)
from django.db.models.functions import Coalesce, Lower
from django.http import HttpRequest
from django.utils import timezone

from readback import keys
from readback.cabinet import account_rules
from readback.cabinet.account_rules import normalise
from readback.cabinet.models import (
    Address,
    Invitation,
    JournalEntry,
    Key,
    KeyQuerySet,
    NetworkKey,
    UnmatchedRequest,
    Usage,
    User,
    key_is_active,
)
from readback.client_address import network_digest
from readback.contract import JOURNAL_ROWS, UNMATCHED_SECONDS

# Recovery codes alone are no second factor: they exist only beside one of these.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


class CurrentAddress(NamedTuple):
    """The address of the API, when it was set, and the previous address."""

    base_url: str
    since: datetime | None
    previous: str | None


def account_find(email: str) -> User | None:
    # `iexact` would read all accounts: only this form has an index.
    accounts = User.objects.alias(lowered=Lower("email"))
    found = accounts.filter(lowered=_searched(email))
    # Not `first`: for its order, PostgreSQL may read all accounts by their id.
    return next(iter(found[:1]), None)


def _searched(email: str) -> str:
    """Return an address in the stored form; an invalid one is found nowhere."""
    try:
        return normalise(email)
    except ValidationError:
        return ""


def account_exists() -> bool:
    return User.objects.exists()


def account_is_confirmed(account: User) -> bool:
    addresses = EmailAddress.objects.filter(user=account, primary=True, verified=True)
    return addresses.exists()


def account_is_unused(account: User) -> bool:
    """Return whether a new sign-up with its address may replace the account.

    Nobody has confirmed it, logged in or created a key, and an operator has neither
    deactivated it nor given it special rights.
    """
    if not account.is_active or account.is_staff or account.is_superuser:
        return False
    confirmed = EmailAddress.objects.filter(user=account, verified=True)
    is_used = account.last_login or account.keys.exists() or confirmed.exists()
    return not is_used


def invitations() -> QuerySet[Invitation]:
    """Return all invitations, newest first."""
    return Invitation.objects.select_related("invited_by").order_by("-created_at")


def invitation_find(email: str) -> Invitation | None:
    return invitations().filter(email=_searched(email)).first()


def invitation_open(email: str) -> Invitation | None:
    """Return the invitation of an address if it can be accepted now."""
    invitation = invitation_find(email)
    return invitation if invitation and invitation.is_open else None


def invitation_is_usable(invitation: Invitation) -> bool:
    """Return whether the owner of the address can create an account with it now."""
    is_allowed = account_rules.may_sign_up(invitation.email, invitation)
    if not invitation.is_open or not is_allowed:
        return False
    account = account_find(invitation.email)
    return account is None or account_is_unused(account)


def accounts_with_state() -> QuerySet[User]:
    """Return all accounts with `is_confirmed` and `key_count`, of the active keys."""
    addresses = EmailAddress.objects.filter(user=OuterRef("pk"))
    active = Key.objects.filter(key_is_active(), owner=OuterRef("pk"))
    counted = active.values("owner").annotate(keys=Count("pk")).values("keys")
    return User.objects.annotate(
        is_confirmed=Exists(addresses.filter(primary=True, verified=True)),
        key_count=Coalesce(Subquery(counted), 0),
    )


def account_is_connected(account: User) -> bool:
    """Return whether somebody at the provider can log in to the account."""
    issuer = settings.CONFIG.oidc_issuer
    return SocialAccount.objects.filter(user=account, provider=issuer).exists()


def keys_of(account: User) -> KeyQuerySet:
    """Return all keys of an account, newest first."""
    return Key.objects.filter(owner=account).order_by("-id")


def keys_active(account: User) -> KeyQuerySet:
    return keys_of(account).active()


def keys_inactive(account: User, limit: int) -> tuple[list[Key], int]:
    """Return the newest keys that have ended, and how many there are altogether."""
    ended = keys_of(account).exclude(key_is_active())
    newest = list(ended.annotate(total=Window(Count("pk")))[:limit])
    total: int = newest[0].total if newest else 0  # type: ignore[attr-defined]
    return newest, total


def key_find(text: str) -> Key | None:
    """Return the key with this text, of whichever account."""
    digest = keys.digest(text.encode())
    return Key.objects.select_related("owner").filter(digest=digest).first()


def key_is_accepted(key: Key) -> bool:
    """Return whether the API accepts the key."""
    owner = key.owner
    return key.is_active and owner.is_active and account_is_confirmed(owner)


def key_replaced_by(new: Key) -> Key | None:
    """Return the key that this one has replaced, if it was made by a rotation."""
    return Key.objects.filter(replaced_by=new).first()


def keys_with_requests_today(account: User) -> QuerySet[Key]:
    """Return the active keys with `requests_today`, counted from 00:00 UTC."""
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    usage = Usage.objects.filter(key=OuterRef("pk"), hour__gte=midnight)
    today = usage.values("key").annotate(sum=Sum("requests")).values("sum")
    return keys_active(account).annotate(requests_today=Coalesce(Subquery(today), 0))


def usage_of(key: Key, days: int) -> list[tuple[datetime, bool, int]]:
    """Return (hour, accepted, requests) rows for the last days, unsorted."""
    start = timezone.now() - timedelta(days=days)
    usage = Usage.objects.filter(key=key, hour__gte=start)
    rows = usage.values_list("hour", "code").annotate(Sum("requests"))
    return [(hour, not code, requests) for hour, code, requests in rows]


def journal_of(key: Key) -> QuerySet[JournalEntry]:
    """Return the journal of a key, newest first.

    Return at most JOURNAL_ROWS rows for each outcome: the data plane deletes older rows
    only from time to time.
    """
    entries, newest = JournalEntry.objects.filter(key=key), Q()
    for accepted in (True, False):
        with_outcome = entries.filter(accepted=accepted).order_by("-pk").values("pk")
        newest |= Q(pk__in=with_outcome[:JOURNAL_ROWS])
    return entries.filter(newest).order_by("-at", "-id")


def latest_request(key: Key, *, but_rather_not_of: str) -> JournalEntry | None:
    """Return the newest row of the journal; if possible, not of this program."""
    is_of_program = Q(user_agent__startswith=but_rather_not_of)
    rows = journal_of(key).alias(is_of_program=is_of_program)
    return rows.order_by("is_of_program", "-at", "-id").first()


def unmatched_requests(client_address: str) -> list[UnmatchedRequest]:
    """Return what the network of an address has sent lately, the last one first."""
    key = NetworkKey.objects.values_list("key", flat=True).first()
    network = network_digest(client_address, bytes(key)) if key else b""
    if not network:
        return []
    start = timezone.now() - timedelta(seconds=UNMATCHED_SECONDS)
    recent = UnmatchedRequest.objects.filter(network=network, at__gte=start)
    return list(recent.order_by("-at", "cell"))


def address_history() -> QuerySet[Address]:
    """Return the addresses of the API, the current one first."""
    return Address.objects.order_by("-id")


def address_current() -> CurrentAddress:
    """Return the address in the settings, with its dates from the history."""
    base_url = settings.CONFIG.base_url
    latest = list(address_history()[:2])
    if not latest or latest[0].base_url != base_url:
        # Not in the history yet: `readback serve` records it when it starts.
        return CurrentAddress(base_url, None, latest[0].base_url if latest else None)
    previous = latest[1].base_url if len(latest) > 1 else None
    return CurrentAddress(base_url, latest[0].since, previous)


class SecondFactors(NamedTuple):
    """The second factors of an account."""

    app: Authenticator | None
    passkeys: list[Authenticator]
    recovery_codes_left: int

    @property
    def is_on(self) -> bool:
        return self.app is not None or bool(self.passkeys)


def second_factors_of(account: User | AnonymousUser) -> SecondFactors:
    rows = list(Authenticator.objects.filter(user_id=account.pk).order_by("pk"))
    by_kind = {row.type: row for row in rows}
    codes = by_kind.get(Authenticator.Type.RECOVERY_CODES)
    return SecondFactors(
        app=by_kind.get(Authenticator.Type.TOTP),
        passkeys=[row for row in rows if row.type == Authenticator.Type.WEBAUTHN],
        recovery_codes_left=len(codes.data["digests"]) if codes else 0,
    )


def has_second_factor(account: User) -> bool:
    rows = Authenticator.objects.filter(user=account, type__in=FACTORS)
    return bool(rows.exists())


def used_second_factor(request: HttpRequest) -> bool:
    """Return whether this session has used a factor that its account still has."""
    if not request.user.is_authenticated:
        return False
    records = get_authentication_records(request, request.user)
    used = [record.get("id") for record in records if record["method"] == "mfa"]
    rows = Authenticator.objects.filter(user_id=request.user.pk, pk__in=used)
    return bool(used) and bool(rows.exists())
