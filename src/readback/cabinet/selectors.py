"""Questions about accounts, keys and the address. Reads; never writes."""

from allauth.account.models import EmailAddress
from django.db.models import Q, QuerySet
from django.utils import timezone

from readback.cabinet.models import Address, Key, User


def account_find(email: str) -> User | None:
    return User.objects.filter(email__iexact=email.strip()).first()


def account_is_confirmed(account: User) -> bool:
    addresses = EmailAddress.objects.filter(user=account, primary=True, verified=True)
    return addresses.exists()


def keys_of(account: User) -> QuerySet[Key]:
    """Give all keys of an account, the newest first."""
    return Key.objects.filter(owner=account).order_by("-id")


def keys_active(account: User) -> QuerySet[Key]:
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return keys_of(account).filter(unexpired, revoked_at=None)


def address_history() -> QuerySet[Address]:
    """Give the addresses of the API, the current one first."""
    return Address.objects.order_by("-id")
