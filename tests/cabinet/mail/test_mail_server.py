"""READBACK_SMTP_URL with real mail servers: plain, STARTTLS with a password, TLS."""

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from django.core.mail import get_connection, send_mail
from django.test import override_settings

from readback.cabinet.mail import backends
from tests.cabinet.which_database import BOTH
from tests.support import commands
from tests.support.authority import Authority
from tests.support.mailbox import mailbox
from tests.support.waiting import PATIENCE

DATABASES = BOTH

HOST = "127.0.0.1"
USER, PASSWORD = "post@example.org", "p:ss/w@rd%20"
ENCODED = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}"


class Post:
    """Accept mail from clients that know the password."""

    def __init__(self) -> None:
        self.logins: list[LoginPassword] = []
        self.subjects: list[str] = []

    def authenticate(self, server, session, envelope, mechanism, data) -> AuthResult:
        self.logins.append(data)
        right = data.login == USER.encode() and data.password == PASSWORD.encode()
        return AuthResult(success=right)

    async def handle_DATA(self, server, session, envelope) -> str:
        head = envelope.content.decode().split("\r\n\r\n")[0]
        self.subjects += [
            line for line in head.splitlines() if line.startswith("Subject:")
        ]
        return "250 kept"


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def trusted(authority, monkeypatch) -> None:
    """Trust the authority that signed the servers' certificates."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))


@pytest.fixture
def post() -> Post:
    return Post()


@contextmanager
def listening(post: Post, **options) -> Iterator[str]:
    """Run a server that asks for the password; yield its URL, which contains the user
    name and the password.
    """
    port = commands.free_port(HOST)
    check = {"authenticator": post.authenticate, "ready_timeout": PATIENCE, **options}
    server = Controller(post, hostname=HOST, port=port, **check)
    server.start()
    try:
        yield f"{ENCODED}@{HOST}:{port}"
    finally:
        server.stop()


@pytest.fixture
def starttls(post, authority) -> Iterator[str]:
    asked = {"require_starttls": True, "auth_required": True}
    with listening(post, tls_context=authority.serves(HOST), **asked) as address:
        yield f"smtp://{address}"


def deliver(url: str, **changed: object) -> None:
    text = ("Привет", "Text", "readback@example.org", ["alice@example.org"])
    with override_settings(**backends.settings(url) | changed):
        connection = get_connection()
        try:
            send_mail(*text, connection=connection)
        finally:
            connection.close()


def test_a_plain_server_accepts_mail():
    with mailbox() as box:
        deliver(box.url)
        assert box.wait_for("alice@example.org", "Привет")


def test_a_password_with_special_characters_is_sent_over_starttls(
    post, starttls, trusted
):
    deliver(starttls)

    assert [login.password for login in post.logins] == [PASSWORD.encode()]
    assert len(post.subjects) == 1


def test_a_server_with_an_untrusted_certificate_gets_no_password(post, starttls):
    with pytest.raises(ssl.SSLCertVerificationError):
        deliver(starttls)

    assert (post.logins, post.subjects) == ([], [])


def test_a_server_without_starttls_gets_no_password():
    with mailbox() as box:
        url = box.url.replace("smtp://", f"smtp://{ENCODED}@")
        with pytest.raises(smtplib.SMTPNotSupportedError):
            deliver(url)
        assert box.messages == []


def test_smtps_uses_tls_from_the_first_byte(post, authority, trusted):
    from_the_start = {"ssl_context": authority.serves(HOST), "auth_require_tls": False}
    with listening(post, **from_the_start) as address:
        deliver(f"smtps://{address}")

    assert [login.login for login in post.logins] == [USER.encode()]
    assert len(post.subjects) == 1
