"""Access to a key: only its owner may open its pages."""

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from readback.cabinet.models import Key, User


class AccountRequest(HttpRequest):
    """A request after `login_required`."""

    user: User


def owned_key(request: AccountRequest, key_id: int) -> Key:
    """Return a key of the user; raise 404 for a key that belongs to another account."""
    return get_object_or_404(Key, pk=key_id, owner=request.user)
