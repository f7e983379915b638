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

from readback.cabinet import account_rules
from readback.cabinet.accounts import invitations
from readback.cabinet.accounts.email_changes import UndoToken
from readback.cabinet.mail.outbox import (
    CONFIRMATION,
    EMAIL_CHANGED,
    INVITATION,
    KEY_EXPIRES,
    PASSWORD_RESET,
    SIGN_UP_CONFIRMATION,
)
from readback.cabinet.models import Key, OutgoingMail, User

_LAYOUT = "account/email/layout.html"

# Returns a URL; or nothing, if the mail would be of no use any more.
MakeLink = Callable[[OutgoingMail], str]


def render(mail: OutgoingMail) -> EmailMultiAlternatives | None:
    """Return the mail, or None if its link would be of no use any more."""
    action = ACTIONS.get(mail.template)
    link = action.make_link(mail) if action else ""
    if action and not link:
        return None
    with translation.override(mail.language):
        return _render(mail, str(action.label) if action else "", link)


def _render(mail: OutgoingMail, label: str, link: str) -> EmailMultiAlternatives:
    button = f"{label}:\n{link}" if link else ""
    context = mail.details | {
        "at": mail.created_at,
        "site": urlsplit(settings.CABINET_URL).netloc,
        "expires_at": mail.expires_at,
        "can_sign_up": account_rules.may_sign_up(mail.address),
        "contact": settings.CONFIG.contact.removeprefix("mailto:"),
        "action": button,
    }
    message = render_to_string(f"{mail.template}_message.txt", context)
    paragraphs = [text.strip() for text in re.split(r"\n\s*\n", message.strip())]
    subject = render_to_string(f"{mail.template}_subject.txt", context).strip()
    layout = {"paragraphs": paragraphs, "action": button, "label": label, "link": link}
    html = render_to_string(_LAYOUT, {"subject": subject, **layout})
    text = "\n\n".join(paragraphs)
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
        arguments = {name: mail.details.get(name, "") for name in details}
        if not all(arguments.values()):  # an earlier version has added the mail
            return str(settings.CABINET_URL)
        return _absolute_url(view, **arguments)

    return make_link


def _confirmation_link(mail: OutgoingMail) -> str:
    addresses = EmailAddress.objects.filter(user=mail.account, email=mail.address)
    unconfirmed = addresses.filter(verified=False).first()
    if unconfirmed is None:
        return ""
    key = EmailConfirmationHMAC(unconfirmed).key
    return _absolute_url("account_confirm_email", key=key)


def _reset_link(mail: OutgoingMail) -> str:
    account = mail.account
    # If the account has another address by now, this one must not get a link to it.
    if account is None or not account.is_active or account.email != mail.address:
        return ""
    return password_reset_link(account)


def password_reset_link(account: User) -> str:
    """Return a link to set a password, which works once, within an hour."""
    token = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(account)
    return _absolute_url(
        "account_reset_password_from_key",
        uidb36=user_pk_to_url_str(account),
        key=token,
    )


def _undo_link(mail: OutgoingMail) -> str:
    account = int(mail.details.get("account", 0))  # 0: added by an earlier version
    token = UndoToken(account, mail.address, mail.created_at.timestamp())
    return _absolute_url("undo_email_change", token=token.text)


def _invitation_link(mail: OutgoingMail) -> str:
    invitation = invitations.invitation_find(mail.address)
    if invitation is None or not invitations.invitation_is_usable(invitation):
        return ""
    return invitations.invitation_link(invitation)


def _expiring_key_link(mail: OutgoingMail) -> str:
    """Return the link to the key's page, unless the reminder is out of date."""
    account = mail.account
    key = Key.objects.filter(pk=mail.details["key_id"], owner=account).first()
    if account is None or not account.is_active or account.email != mail.address:
        return ""
    if key is None or not key.is_active:
        return ""
    # Since the mail was added, the key may have been rotated.
    if str(key.replaced_by or "") != mail.details["new_key"]:
        return ""
    return _absolute_url("key", key_id=mail.details["key_id"])


def _absolute_url(view: str, **arguments: str) -> str:
    return f"{settings.CABINET_URL}{reverse(view, kwargs=arguments)}"


_SET_PASSWORD = _("Set new password")

ACTIONS = {
    CONFIRMATION: Action(_("Confirm the address"), _confirmation_link),
    SIGN_UP_CONFIRMATION: Action(_("Confirm the address"), _confirmation_link),
    PASSWORD_RESET: Action(_SET_PASSWORD, _reset_link),
    INVITATION: Action(_("Accept the invitation"), _invitation_link),
    "account/email/account_already_exists": Action(_("Log in"), page("account_login")),
    "account/email/account_deleted": Action(_("Sign up again"), page("account_signup")),
    EMAIL_CHANGED: Action(_("Undo the change"), _undo_link),
    "account/email/email_deleted": Action(_("Open your account"), page("account")),
    "account/email/key_created": Action(_("Open the key"), page("key", "key_id")),
    "account/email/key_rotated": Action(_("Open the key"), page("key", "key_id")),
    KEY_EXPIRES: Action(_("Open the key"), _expiring_key_link),
    "account/email/key_revoked": Action(_("Open your keys"), page("keys")),
    "account/email/password_changed": Action(
        _SET_PASSWORD, page("account_reset_password")
    ),
    "account/email/password_reset": Action(
        _SET_PASSWORD, page("account_reset_password")
    ),
    "account/email/password_set": Action(_SET_PASSWORD, page("account_reset_password")),
    **{
        f"account/email/{name}": Action(
            _("Open your second factors"), page("second_factor")
        )
        for name in (
            "recovery_code_used",
            "recovery_codes_created",
            "second_factor_added",
            "second_factor_removed",
        )
    },
    "account/email/second_factor_reset": Action(
        _SET_PASSWORD, page("account_reset_password")
    ),
    "account/email/provider_connected": Action(_("Open your account"), page("account")),
    "account/email/provider_disconnected": Action(_("Log in"), page("account_login")),
    "account/email/unknown_account": Action(_("Sign up"), page("account_signup")),
}
