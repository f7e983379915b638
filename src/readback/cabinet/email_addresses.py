"""Which e-mail addresses an account may have, and in which form they are compared."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

# RFC 5321 §4.5.3.1.1: mail servers need not accept more before the @.
_MAX_LOCAL_LENGTH = 64


def normalise(email: str) -> str:
    """Return an address in lower case, with the domain in its ASCII form.

    By IDNA 2008, as browsers and mail servers look it up: straße.de is a domain of its
    own. The older IDNA of Python and Django makes it strasse.de, which is somebody
    else's.
    """
    local, at, domain = email.strip().rpartition("@")
    if not domain.isascii():
        import idna  # its tables take 18 MB of memory, and few addresses need them

        try:
            domain = idna.encode(domain, uts46=True, transitional=False).decode()
        except idna.IDNAError:
            message = _("Enter a valid e-mail address.")
            raise ValidationError(message, "invalid") from None
    return f"{local}{at}{domain}".lower()


def validate_deliverable(email: str) -> None:
    """Refuse an address whose mail would go to a number or could be sent nowhere."""
    local, _at, domain = email.rpartition("@")
    if domain.startswith("["):
        # A domain is owned by somebody; 127.0.0.1 is the mail server itself.
        raise ValidationError(_("Use an e-mail address with a domain name."), "invalid")
    if len(local) > _MAX_LOCAL_LENGTH:
        raise ValidationError(_("The part before the @ is too long."), "invalid")
