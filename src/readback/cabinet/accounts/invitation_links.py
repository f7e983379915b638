"""The link of an invitation: made when it is shown or mailed, and never stored.

It is signed with the secret key and names the row and its creation time. Inviting
again changes that time, so earlier links stop working. When a link expires and whether
it was used is in the row.
"""

from django.conf import settings
from django.core import signing
from django.urls import reverse

from readback.cabinet.accounts import selectors
from readback.cabinet.models import Invitation

_SALT = "readback.cabinet.invitation"


def make(invitation: Invitation) -> str:
    token = signing.dumps([invitation.pk, _moment(invitation)], salt=_SALT)
    path = reverse("account_invitation", kwargs={"token": token})
    return f"{settings.CABINET_URL}{path}"


def find(token: str) -> Invitation | None:
    """Return the invitation that the link's token is for, if it can be accepted now."""
    try:
        pk, moment = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    invitation = Invitation.objects.filter(pk=pk).first()
    if invitation is None or _moment(invitation) != moment:
        return None
    return invitation if selectors.invitation_is_usable(invitation) else None


def _moment(invitation: Invitation) -> int:
    """Return the time of creation in microseconds."""
    return round(invitation.created_at.timestamp() * 1_000_000)
