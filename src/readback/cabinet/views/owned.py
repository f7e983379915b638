"""What the pages of a key share: whose key it is."""

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from readback.cabinet.models import Key, User


class AccountRequest(HttpRequest):
    """A request after `login_required`."""

    user: User


def owned_key(request: AccountRequest, key_id: int) -> Key:
    """Give a key of the one who asks; another's key is as if it did not exist."""
    return get_object_or_404(Key, pk=key_id, owner=request.user)
