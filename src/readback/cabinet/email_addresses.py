"""Which e-mail addresses an account may have, beyond their syntax."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

# RFC 5321 §4.5.3.1.1: mail servers need not accept more before the @.
_MAX_LOCAL_LENGTH = 64


def validate_deliverable(email: str) -> None:
    """Refuse an address whose mail would go to a number or could be sent nowhere."""
    local, _at, domain = email.rpartition("@")
    if domain.startswith("["):
        # A domain is owned by somebody; 127.0.0.1 is the mail server itself.
        raise ValidationError(_("Use an e-mail address with a domain name."), "invalid")
    if len(local) > _MAX_LOCAL_LENGTH:
        raise ValidationError(_("The part before the @ is too long."), "invalid")
