"""A row of the outbox as a mail. Its link is made here, when the mail is sent.

Links are built from the settings, never from a request: anyone can forge its Host
header. What is needed to render a mail is in the row; nothing here knows who asked.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from allauth.account import app_settings
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation

from readback.cabinet.models import Key, OutgoingMail

CONFIRMATION = "account/email/email_confirmation"
SIGN_UP_CONFIRMATION = "account/email/email_confirmation_signup"
PASSWORD_RESET = "account/email/password_reset_key"
KEY_EXPIRES = "account/email/key_expires"


def render(mail: OutgoingMail) -> EmailMultiAlternatives | None:
    """Return the mail, or None if its link would be of no use any more."""
    context: dict[str, object] = mail.details | {"at": mail.created_at}
    if make_link := _LINKS.get(mail.template):
        context["link"] = make_link(mail)
        if not context["link"]:
            return None
    with translation.override(mail.language):
        return _render(mail.template, mail.address, context)


def _render(
    template: str, address: str, context: dict[str, object]
) -> EmailMultiAlternatives:
    """Return the mail as text, with the same paragraphs as HTML."""
    url: str = settings.CABINET_URL
    context = context | {"cabinet_url": url, "site": urlsplit(url).netloc}
    subject = " ".join(render_to_string(f"{template}_subject.txt", context).split())
    text = render_to_string(f"{template}_message.txt", context).strip()
    paragraphs = {"subject": subject, "paragraphs": text.split("\n\n")}
    html = render_to_string("account/email/layout.html", context | paragraphs)
    rendered = EmailMultiAlternatives(subject, text, to=[address])
    rendered.attach_alternative(html, "text/html")
    return rendered


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
    token = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(account)
    return _absolute_url(
        "account_reset_password_from_key",
        uidb36=user_pk_to_url_str(account),
        key=token,
    )


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


_LINKS: dict[str, Callable[[OutgoingMail], str]] = {
    CONFIRMATION: _confirmation_link,
    SIGN_UP_CONFIRMATION: _confirmation_link,
    PASSWORD_RESET: _reset_link,
    KEY_EXPIRES: _expiring_key_link,
}
