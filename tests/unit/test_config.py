"""The settings: their defaults, valid values and errors."""

import os
from pathlib import Path

import pytest

from readback import config, keys
from readback.config import ConfigError
from readback.setting_values import Bind, SignUp


def test_every_setting_has_a_default() -> None:
    settings = config.read({})
    assert settings.base_url == "http://127.0.0.1:8000/v1"
    assert settings.effective_cabinet_url == "http://127.0.0.1:8001"
    assert settings.sqlite_path == Path("var/readback.sqlite3").absolute()
    assert not settings.error_messages
    tls = {"READBACK_TLS_CERTIFICATE": "c.pem", "READBACK_TLS_KEY": "k.pem"}
    assert config.read(tls).base_url == "https://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    "name, value, why",
    [
        ("READBACK_WORKERS", "many", "whole number"),
        ("READBACK_WORKERS", "-1", "whole number"),
        ("READBACK_WORKERS", "²", "whole number"),
        ("READBACK_KEY_BURST", "0", "from 1"),
        ("READBACK_HEAD_TIMEOUT", "0", "seconds"),
        ("READBACK_HEAD_TIMEOUT", "1e3", "seconds"),
        ("READBACK_ERROR_MESSAGES", "yes", "on or off"),
        ("READBACK_API_BIND", "8000", "127.0.0.1:8000"),
        ("READBACK_API_BIND", "127.0.0.1:70000", "127.0.0.1:8000"),
        ("READBACK_API_BIND", "127.0.0.1:1,", "127.0.0.1:8000"),
        ("READBACK_DATABASE_URL", "mysql://x/y", "postgresql://"),
        ("READBACK_PUBLIC_BASE_URL", "https://api.example/v2", "/v1"),
        ("READBACK_CABINET_URL", "example.org", "https://"),
        ("READBACK_CABINET_URL", "https://echo example.org", "without spaces"),
        ("READBACK_CABINET_URL", "https://echo.exam\tple.org", "without spaces"),
        ("READBACK_CABINET_URL", "https://echo.example\u200b.org", "without spaces"),
        ("READBACK_PUBLIC_BASE_URL", "https://a.example /v1", "without spaces"),
        ("READBACK_SMTP_URL", "smtp://mail example", "without spaces"),
        ("READBACK_DATABASE_URL", "postgresql://a b/readback", "without spaces"),
        ("READBACK_SMTP_URL", "https://x", "smtp://"),
        ("READBACK_SECRET_KEY", "short", "50 characters"),
        ("READBACK_SIGNUP", "nobody", "open, closed, or domains"),
        ("READBACK_SIGNUP", "", "open, closed, or domains"),
        ("READBACK_SIGNUP", "example.org,", "open, closed, or domains"),
        ("READBACK_SIGNUP", "alice@example.org", "open, closed, or domains"),
        ("READBACK_SIGNUP", ".example.org", "open, closed, or domains"),
        ("READBACK_OIDC_ISSUER", "login.example", "https://"),
        ("READBACK_OIDC_ISSUER", "http://login.example", "https://"),
        ("READBACK_OIDC_ISSUER", "http://127.login.example", "https://"),
        ("READBACK_OIDC_ISSUER", "https://login.example/?realm=x", "without ?"),
        ("READBACK_OIDC_ISSUER", f"https://{'x' * 200}.example", "200 characters"),
        ("READBACK_CONTACT", "alice", "e-mail address"),
        ("READBACK_CONTACT", "https://echo example.org", "e-mail address"),
        ("READBACK_SITE_NAME", "x" * 41, "at most 40"),
        ("READBACK_SITE_NAME", "Aurora\r\nBcc: mallory@example.net", "one line"),
        ("READBACK_SITE_NAME", "Aurora\u202e", "visible characters"),
        ("READBACK_SITE_NAME", "Aurora\udcff", "visible characters"),
        ("READBACK_CABINET_URL", "javascript:alert(1)", "https://"),
        ("READBACK_MAIL_FROM", "Aurora", "an e-mail address"),
        ("READBACK_MAIL_FROM", "a@b.example\nBcc: c@d.example", "an e-mail address"),
    ],
)
def test_the_error_for_a_wrong_value_names_the_variable(
    name: str, value: str, why: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        config.read({name: value})
    assert str(caught.value).startswith(name)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"WORKRES": "2"}, "did you mean READBACK_WORKERS"),
        ({"AUTH_FAILURE_RATE": "30"}, "is not a setting of Readback; remove it."),
        ({"WORKERS_FILE": "x"}, "READBACK_WORKERS_FILE is not a setting"),
        ({"SECRET_KEY": "s" * 60, "SECRET_KEY_FILE": "x"}, "both set"),
        ({"SMTP_URL_FILE": "/no/such/file"}, "READBACK_SMTP_URL_FILE: .*No such file"),
        ({"TLS_CERTIFICATE": "cert.pem"}, "together"),
        ({"OIDC_ISSUER": "https://login.example"}, "together"),
        ({"OIDC_CLIENT_ID": "x", "OIDC_CLIENT_SECRET": "y"}, "together"),
        ({"OIDC_ONLY": "on"}, "READBACK_OIDC_ONLY needs"),
    ],
)
def test_the_error_for_settings_that_do_not_fit_together_says_why(
    given: dict[str, str], why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        config.read({f"READBACK_{name}": value for name, value in given.items()})


def test_variables_that_kubernetes_injects_are_ignored() -> None:
    injected = {
        "READBACK_SERVICE_HOST": "10.0.0.1",
        "READBACK_SERVICE_PORT": "80",
        "READBACK_SERVICE_PORT_HTTP": "80",
        "READBACK_PORT": "tcp://10.0.0.1:80",
        "READBACK_PORT_80_TCP_ADDR": "10.0.0.1",
        "READBACK_API_SERVICE_HOST": "10.0.0.2",
    }
    assert config.read(injected) == config.read({})


def test_a_secret_may_be_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("s" * 60 + "\n")
    settings = config.read({"READBACK_SECRET_KEY_FILE": str(file)})
    assert settings.secret_key == "s" * 60


def test_a_malformed_key_is_refused_with_how_to_make_one_and_not_repeated() -> None:
    for wrong in ("secret", keys.mint()[:-1], keys.mint()[:-6] + "000000", "\udcff"):
        with pytest.raises(ConfigError, match="readback key generate") as caught:
            config.read({"READBACK_EPHEMERAL_KEY": wrong})
        assert wrong not in str(caught.value)


def test_who_may_sign_up_is_a_mode_or_a_list_of_domains() -> None:
    assert config.read({}).signup == SignUp("open")
    assert config.read({"READBACK_SIGNUP": "closed"}).signup == SignUp("closed")
    domains = config.read({"READBACK_SIGNUP": "Example.org, mail.example.com"}).signup
    assert domains == SignUp("domains", frozenset({"example.org", "mail.example.com"}))
    assert domains.allows_domain("alice@EXAMPLE.ORG")
    assert not domains.allows_domain("alice@sub.example.org")
    assert not domains.allows_domain("example.org@elsewhere.example")


@pytest.mark.parametrize("given", ["me@example.org", "mailto:me@example.org"])
def test_the_contact_is_a_url(given: str) -> None:
    assert config.read({"READBACK_CONTACT": given}).contact == "mailto:me@example.org"


@pytest.mark.parametrize(
    "text, binds",
    [
        ("127.0.0.1:8000", (Bind("127.0.0.1", 8000),)),
        ("[::1]:8000", (Bind("::1", 8000),)),
        ("api.internal:1", (Bind("api.internal", 1),)),
        ("unix:/run/x.sock, [::1]:1", (Bind("", 0, "/run/x.sock"), Bind("::1", 1))),
    ],
)
def test_bind_addresses_are_read_and_written_alike(
    text: str, binds: tuple[Bind, ...]
) -> None:
    assert config.read({"READBACK_API_BIND": text}).api_bind == binds
    assert ", ".join(map(str, binds)) == text


@pytest.mark.parametrize(
    "text, local",
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("unix:/s", True),
        ("127.example.org:1", False),
        ("readback.localhost:1", False),  # resolved by DNS, so it may be any machine
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("192.0.2.1:1", False),
    ],
)
def test_loopback_addresses_are_recognised(text: str, local: bool) -> None:
    (bind,) = config.read({"READBACK_API_BIND": text}).api_bind
    assert bind.is_loopback is local


@pytest.mark.parametrize("content", ["", "\n"])
def test_an_empty_secret_file_is_not_taken_for_no_secret(
    tmp_path: Path, content: str
) -> None:
    file = tmp_path / "secret"
    file.write_text(content)
    with pytest.raises(ConfigError, match="READBACK_SECRET_KEY_FILE: .* is empty"):
        config.read({"READBACK_SECRET_KEY_FILE": str(file)})


def test_there_are_as_many_workers_as_cores_that_the_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert config.read({}).worker_count == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert config.read({"READBACK_WORKERS": "3"}).worker_count == 3


def test_a_machine_with_many_cores_has_no_more_workers_than_a_setting_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(4096))
    assert config.read({}).worker_count == config.MAX_WORKERS
