"""The key of a page."""

from django.shortcuts import get_object_or_404

from readback.cabinet.models import Key
from readback.cabinet.serving.requests import AccountRequest


def owned_key(request: AccountRequest, key_id: int) -> Key:
    """Return a key of the user; raise 404 for a key that belongs to another account."""
    return get_object_or_404(Key, pk=key_id, owner=request.user)
