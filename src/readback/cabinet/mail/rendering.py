"""E-mails as recipients see them: text, the same paragraphs as HTML, and a button.

Links are built from the settings, never from a request, whose Host can be forged.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.template import Context, Engine
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from readback.cabinet import account_rules

_FOLDER = "account/email/"


class RenderedMail(NamedTuple):
    subject: str
    text: str
    html: str


# The button of an e-mail: its label, and the page that it opens unless there is a link.
_CONFIRM = (_("Confirm the address"), "")
_LOG_IN = (_("Log in"), "account_login")
_OPEN_ACCOUNT = (_("Open your account"), "account")
_OPEN_FACTORS = (_("Open your second factors"), "mfa_index")
_OPEN_KEY = (_("Open the key"), "key")
_SET_PASSWORD = (_("Set new password"), "account_reset_password")

ACTIONS = {
    "email_confirmation": _CONFIRM,
    "email_confirmation_signup": _CONFIRM,
    "password_reset_key": _SET_PASSWORD,
    "invitation": _OPEN_ACCOUNT,
    "account_already_exists": _LOG_IN,
    "account_deleted": (_("Sign up again"), "account_signup"),
    "email_deleted": _OPEN_ACCOUNT,
    "key_created": _OPEN_KEY,
    "key_rotated": _OPEN_KEY,
    "key_expires": _OPEN_KEY,
    "key_revoked": (_("Open your keys"), "keys"),
    "password_changed": _SET_PASSWORD,
    "password_reset": _SET_PASSWORD,
    "password_set": _SET_PASSWORD,
    "recovery_code_used": _OPEN_FACTORS,
    "recovery_codes_created": _OPEN_FACTORS,
    "second_factor_added": _OPEN_FACTORS,
    "second_factor_removed": _OPEN_FACTORS,
    "second_factor_reset": _SET_PASSWORD,
    "provider_connected": _OPEN_ACCOUNT,
    "provider_disconnected": _LOG_IN,
    "unknown_account": (_("Sign up"), "account_signup"),
}


def render(
    template: str, address: str, language: str, details: Mapping[str, str], link: str
) -> RenderedMail:
    label, page = ACTIONS.get(template.removeprefix(_FOLDER), ("", ""))
    if page and not link:
        key = {"key_id": details["key_id"]} if page == "key" else {}
        link = absolute_url(page, **key)
    with translation.override(language):
        context = {
            **details,
            "at": timezone.now(),
            "site_name": settings.BRAND.name,
            "brand": settings.BRAND,
            "site": urlsplit(settings.CABINET_URL).netloc,
            "can_sign_up": account_rules.may_sign_up(address),
            "contact": settings.CONFIG.contact.removeprefix("mailto:"),
            "action": f"{label}:\n{link}" if link else "",
        }
        message = _text_of(f"{template}_message.txt", context)
        paragraphs = [text.strip() for text in re.split(r"\n\s*\n", message)]
        subject = _text_of(f"{template}_subject.txt", context)
        footer = settings.BRAND.mail_footer
        context |= {"subject": subject, "paragraphs": paragraphs}
        context |= {"label": label, "link": link, "footer": footer}
        html = render_to_string(f"{_FOLDER}layout.html", context)
    text = "\n\n".join((*paragraphs, footer) if footer else paragraphs)
    return RenderedMail(subject, text, html)


def _text_of(template: str, context: dict[str, Any]) -> str:
    plain = Context(context, autoescape=False)
    return Engine.get_default().get_template(template).render(plain).strip()


def absolute_url(view: str, **arguments: str) -> str:
    return f"{settings.CABINET_URL}{reverse(view, kwargs=arguments)}"
