"""A mail backend that prints e-mails to the terminal, for use without a mail server.

The text is printed decoded, because a link split over encoded lines cannot be clicked.
It goes to standard error, because standard output belongs to commands.
"""

import sys
from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

_RULE = "-" * 72


class TerminalBackend(BaseEmailBackend):
    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for mail in email_messages:
            head = f"Mail to {', '.join(mail.to)}: {mail.subject}"
            print(_RULE, head, "", mail.body, _RULE, sep="\n", file=sys.stderr)
        sys.stderr.flush()
        return len(email_messages)
