"""A row of the outbox as a mail: text, and the same paragraphs as HTML.

What is needed to render a mail is in the row; nothing here knows who asked for it.
How to add a mail:

1. Write `<prefix>_subject.txt` and `<prefix>_message.txt`: plain text, with an empty
   line between paragraphs. The HTML part is made from them and `layout.html`.
2. If its reader can do something, add the button to `mail_actions.ACTIONS`, and
   `{{ action }}` to the message, as a paragraph of its own.
3. Include `account/email/origin.txt` if it reports a change: when, and from where.
   Inside `{% if ip %}`, advise what its reader can do now if it was someone else.
4. Add it to the outbox through `notices.py`; the details are strings.
5. Add it to the list in `tests/cabinet/test_mail_texts.py`.
"""

import re
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import translation

from readback.cabinet import account_rules
from readback.cabinet.accounts.mail_actions import ACTIONS
from readback.cabinet.models import OutgoingMail

_LAYOUT = "account/email/layout.html"


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
