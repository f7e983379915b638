"""A real SMTP server in the test's process that keeps every e-mail it receives.

Set READBACK_SMTP_URL to its `url`.
"""

import logging
import re
import socket
from asyncio import AbstractServer
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session, TLSSetupException

from tests.support.waiting import PATIENCE, wait_until

HOST = "127.0.0.1"


def _is_not_a_refused_certificate(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, TLSSetupException)


# In some tests, the client does not trust our certificate and aborts the TLS handshake.
# aiosmtpd logs that with a traceback, often when pytest no longer captures the output.
logging.getLogger("mail.log").addFilter(_is_not_a_refused_certificate)


class Mailbox:
    """A server that keeps the e-mails for all recipients, oldest first."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []
        self._socket = socket.create_server((HOST, 0))
        self._controller = _Listener(self._socket, _Keeper(self.messages))

    @property
    def url(self) -> str:
        return f"smtp://{HOST}:{self._controller.port}"

    def start(self) -> None:
        self._controller.start()

    def stop(self) -> None:
        self._controller.stop()

    def to(self, address: str) -> list[EmailMessage]:
        return [mail for mail in list(self.messages) if mail["X-RcptTo"] == address]

    def wait_for(
        self, to: str, subject_part: str = "", timeout: float = PATIENCE
    ) -> EmailMessage:
        """Wait for an e-mail to an address about `subject_part`; return the newest."""

        def matching() -> list[EmailMessage]:
            return [m for m in self.to(to) if subject_part in m["Subject"]]

        def what() -> str:
            received = [(mail["X-RcptTo"], mail["Subject"]) for mail in self.messages]
            return f"a mail to {to!r} about {subject_part!r} is in {received}"

        wait_until(matching, what, timeout)
        return matching()[-1]


class _Listener(Controller):
    """aiosmtpd's server, on a socket that is already bound."""

    def __init__(self, bound: socket.socket, handler: "_Keeper") -> None:
        port = bound.getsockname()[1]
        super().__init__(handler, hostname=HOST, port=port, ready_timeout=PATIENCE)
        self._bound = bound

    def _create_server(self) -> Coroutine[Any, Any, AbstractServer]:
        return self.loop.create_server(self._factory_invoker, sock=self._bound)


class _Keeper:
    def __init__(self, messages: list[EmailMessage]) -> None:
        self._messages = messages

    async def handle_DATA(
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        for recipient in envelope.rcpt_tos:
            mail = message_from_bytes(envelope.content, policy=policy.default)
            # The envelope decides who receives an e-mail, not the headers.
            mail["X-RcptTo"] = recipient
            self._messages.append(mail)
        return "250 kept"


@contextmanager
def mailbox(box: Mailbox | None = None) -> Iterator[Mailbox]:
    box = box or Mailbox()
    box.start()
    try:
        yield box
    finally:
        box.stop()


def text_of(mail: EmailMessage) -> str:
    return _part(mail, "plain")


def html_of(mail: EmailMessage) -> str:
    return _part(mail, "html")


def link_in(mail: EmailMessage) -> str:
    """Return the only link in the e-mail."""
    links = set(re.findall(r"https?://\S+", text_of(mail)))
    assert len(links) == 1, f"not exactly one link: {links}"
    return links.pop()


def _part(mail: EmailMessage, subtype: str) -> str:
    part = mail.get_body(preferencelist=(subtype,))
    assert part is not None, f"{mail['Subject']!r} has no {subtype} part"
    return part.get_content()
