"""Who may have an account: the rules of READBACK_SIGNUP.

Every path that creates an account asks here: the form, an invitation, single sign-on,
the commands. The setting is read at start. Accounts that already exist are not
affected, except that they cannot change to an address of another domain.
"""

from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.translation import gettext as _

if TYPE_CHECKING:  # the models import this module
    from readback.cabinet.models import Invitation


def form_is_open() -> bool:
    """Return whether there is a sign-up form for visitors."""
    return settings.CONFIG.signup.mode in ("open", "domains")


def may_sign_up(email: str, invitation: "Invitation | None" = None) -> bool:
    """Return whether a visitor may create an account with this address.

    Pass the invitation of the address only if the visitor has proved that the address
    is theirs, by its link or by a provider that has verified it.
    """
    is_invited = (
        invitation is not None and invitation.is_open and invitation.email == email
    )
    return allows_address(email) and (form_is_open() or is_invited)


def allows_address(email: str) -> bool:
    """Return whether any account, an operator's too, may have this address."""
    return bool(settings.CONFIG.signup.allows_domain(email))


def domains() -> str:
    """Return the only domains that are allowed, or nothing if all are."""
    return ", ".join(sorted(settings.CONFIG.signup.domains))


def refusal_for_visitors() -> str:
    return _("Use an address from one of these domains: %(domains)s.") % {
        "domains": domains()
    }


def refusal_for_operators() -> str:
    return _("READBACK_SIGNUP only allows addresses from %(domains)s.") % {
        "domains": domains()
    }
