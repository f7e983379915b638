"""Limits on outgoing mail: per mailbox, per sender, and for both together.

Mails that anyone can ask for are counted apart from notices to the owner of an account.
Otherwise, a stranger who asks for many could keep a notice from being sent. The counts
do not depend on whether an account exists. The numbers are in the settings.
"""

from allauth.core import ratelimit
from allauth.core.internal.ratelimit import get_ip
from django.http import HttpRequest


def allow_request(request: HttpRequest, address: str) -> bool:
    """Count a mail that a visitor asks for; return whether it may be sent."""
    to, is_account = mailbox(address), request.user.is_authenticated
    sender = f"account {request.user.pk}" if is_account else get_ip(request)
    by = "mail_by_account" if is_account else "mail_by_address"
    return (
        ratelimit.consume(request, action="mail_by_and_to", key=f"{sender} {to}")
        and ratelimit.consume(request, action="mail_to", key=to)
        and ratelimit.consume(request, action=by)
    )


def allow_notice(request: HttpRequest | None, address: str) -> bool:
    """Count a notice; return whether it may be sent. Commands have no limit."""
    if request is None:
        return True
    return ratelimit.consume(request, action="notice_to", key=mailbox(address))


def mailbox(address: str) -> str:
    """Return what all addresses of one mailbox have in common.

    Most providers deliver alice+anything@example.org to alice@example.org.
    """
    local, _at, domain = address.lower().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"
