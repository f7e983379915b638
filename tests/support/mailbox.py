"""A real SMTP server in the test's process: mails go over a socket and are kept.

Give `url` to the product as READBACK_SMTP_URL. Nothing here knows which mails the
product sends; the tests that ask for one say what they look for.
"""

import re
import socket
import time
from asyncio import AbstractServer
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

HOST = "127.0.0.1"
PATIENCE = 10.0
"""Seconds to wait for a mail before it counts as missing."""


class Mailbox:
    """Every mail that any sender handed over, for any recipient, oldest first."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []
        self._socket = socket.create_server((HOST, 0))
        self._controller = _Listener(self._socket, _Keeper(self.messages))

    @property
    def url(self) -> str:
        """The server's address in the form of READBACK_SMTP_URL."""
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
        """Give the newest mail to an address whose subject has these words."""
        deadline = time.monotonic() + timeout
        while True:
            found = [m for m in self.to(to) if subject_part in m["Subject"]]
            if found:
                return found[-1]
            if time.monotonic() > deadline:
                there = [(m["X-RcptTo"], m["Subject"]) for m in self.messages]
                raise AssertionError(f"no mail {to!r} {subject_part!r} in {there}")
            time.sleep(0.02)


class _Listener(Controller):
    """The library's server on a socket that is bound already, to any free port."""

    def __init__(self, bound: socket.socket, handler: "_Keeper") -> None:
        super().__init__(handler, hostname=HOST, port=bound.getsockname()[1])
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
            # Who really gets it, whatever the headers say.
            mail["X-RcptTo"] = recipient
            self._messages.append(mail)
        return "250 kept"


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    box = Mailbox()
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
    """The one link of a mail that asks its reader to do something."""
    links = set(re.findall(r"https?://\S+", text_of(mail)))
    assert len(links) == 1, f"not one link: {links}"
    return links.pop()


def _part(mail: EmailMessage, subtype: str) -> str:
    part = mail.get_body(preferencelist=(subtype,))
    assert part is not None, f"{mail['Subject']!r} has no {subtype} part"
    return part.get_content()
