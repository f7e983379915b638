"""A row of the outbox as a mail: text, the same paragraphs as HTML, and one button.

What is needed to render a mail is in the row; nothing here knows who asked for it. A
link is built from the settings, never from a request: anyone can forge its Host header.
A link with a secret is made here, when the mail is sent, and is stored nowhere.
"""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from allauth.account import app_settings
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import invitations
from readback.cabinet.mail import outbox
from readback.cabinet.models import Key, OutgoingMail, User

# Returns a URL; or nothing, if the mail would be of no use any more.
MakeLink = Callable[[OutgoingMail], str]


def render(mail: OutgoingMail) -> EmailMultiAlternatives | None:
    """Return the mail, or None if its link would be of no use any more."""
    action = ACTIONS.get(mail.template)
    link = action.make_link(mail) if action else ""
    if action and not link:
        return None
    with translation.override(mail.language):
        label = str(action.label) if action else ""
        context = mail.details | {
            "at": mail.created_at,
            "site_name": settings.BRAND.name,
            "brand": settings.BRAND,
            "site": urlsplit(settings.CABINET_URL).netloc,
            "expires_at": mail.expires_at,
            "can_sign_up": invitations.may_sign_up(mail.address),
            "contact": settings.CONFIG.contact.removeprefix("mailto:"),
            "action": f"{label}:\n{link}" if link else "",
        }
        message = render_to_string(f"{mail.template}_message.txt", context)
        paragraphs = [text.strip() for text in re.split(r"\n\s*\n", message.strip())]
        subject = render_to_string(f"{mail.template}_subject.txt", context).strip()
        context |= {"subject": subject, "paragraphs": paragraphs}
        footer = str(settings.BRAND.mail_footer)
        context |= {"label": label, "link": link, "footer": footer}
        html = render_to_string("account/email/layout.html", context)
    text = "\n\n".join((*paragraphs, footer) if footer else paragraphs)
    rendered = EmailMultiAlternatives(subject, text, to=[mail.address])
    rendered.attach_alternative(html, "text/html")
    return rendered


class Action(NamedTuple):
    """A button: what it says, and how its link is made."""

    label: str | Promise
    make_link: MakeLink


def page(view: str, *details: str) -> MakeLink:
    """Return what links to a page; these details of the mail are its arguments."""

    def make_link(mail: OutgoingMail) -> str:
        return _absolute_url(view, **{name: mail.details[name] for name in details})

    return make_link


def _confirmation_link(mail: OutgoingMail) -> str:
    addresses = EmailAddress.objects.filter(user=mail.account, email=mail.address)
    unconfirmed = addresses.filter(verified=False).first()
    if unconfirmed is None:
        return ""
    key = EmailConfirmationHMAC(unconfirmed).key
    return _absolute_url("account_confirm_email", key=key)


def _reset_link(mail: OutgoingMail) -> str:
    account = _account_of(mail)
    return password_reset_link(account) if account else ""


def _account_of(mail: OutgoingMail) -> User | None:
    account = mail.account
    # If the account has another address by now, this one must not get a link to it.
    if account is None or not account.is_active or account.email != mail.address:
        return None
    return account


def password_reset_link(account: User) -> str:
    """Return a link to set a password, which works once, within an hour."""
    token = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(account)
    pk = user_pk_to_url_str(account)
    return _absolute_url("account_reset_password_from_key", uidb36=pk, key=token)


def _invitation_link(mail: OutgoingMail) -> str:
    invitation = invitations.invitation_find(mail.address)
    if invitation is None or not invitations.invitation_is_usable(invitation):
        return ""
    return invitations.invitation_link(invitation)


def _expiring_key_link(mail: OutgoingMail) -> str:
    """Return the link to the key's page, unless the reminder is out of date."""
    key = Key.objects.filter(pk=mail.details["key_id"], owner=mail.account).first()
    if _account_of(mail) is None or key is None or not key.is_active:
        return ""
    # Since the mail was added, the key may have been rotated.
    if str(key.replaced_by or "") != mail.details["new_key"]:
        return ""
    return _absolute_url("key", key_id=mail.details["key_id"])


def _absolute_url(view: str, **arguments: str) -> str:
    return f"{settings.CABINET_URL}{reverse(view, kwargs=arguments)}"


_CONFIRM = Action(_("Confirm the address"), _confirmation_link)
_LOG_IN = Action(_("Log in"), page("account_login"))
_OPEN_ACCOUNT = Action(_("Open your account"), page("account"))
_OPEN_FACTORS = Action(_("Open your second factors"), page("second_factor"))
_OPEN_KEY = Action(_("Open the key"), page("key", "key_id"))
_SET_PASSWORD = Action(_("Set new password"), page("account_reset_password"))

ACTIONS = {
    outbox.CONFIRMATION: _CONFIRM,
    outbox.SIGN_UP_CONFIRMATION: _CONFIRM,
    outbox.PASSWORD_RESET: _SET_PASSWORD._replace(make_link=_reset_link),
    outbox.INVITATION: Action(_("Accept the invitation"), _invitation_link),
    "account/email/account_already_exists": _LOG_IN,
    "account/email/account_deleted": Action(_("Sign up again"), page("account_signup")),
    "account/email/email_deleted": _OPEN_ACCOUNT,
    "account/email/key_created": _OPEN_KEY,
    "account/email/key_rotated": _OPEN_KEY,
    outbox.KEY_EXPIRES: _OPEN_KEY._replace(make_link=_expiring_key_link),
    "account/email/key_revoked": Action(_("Open your keys"), page("keys")),
    "account/email/password_changed": _SET_PASSWORD,
    "account/email/password_reset": _SET_PASSWORD,
    "account/email/password_set": _SET_PASSWORD,
    "account/email/recovery_code_used": _OPEN_FACTORS,
    "account/email/recovery_codes_created": _OPEN_FACTORS,
    "account/email/second_factor_added": _OPEN_FACTORS,
    "account/email/second_factor_removed": _OPEN_FACTORS,
    "account/email/second_factor_reset": _SET_PASSWORD,
    "account/email/provider_connected": _OPEN_ACCOUNT,
    "account/email/provider_disconnected": _LOG_IN,
    "account/email/unknown_account": Action(_("Sign up"), page("account_signup")),
}
