"""Django's settings derived from Readback's: secret, database, mail, cookies."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from readback.cabinet.mail import backends
from readback.cabinet.storage import databases, private_files
from readback.config import Config, ConfigError


def test_a_secret_is_generated_once_and_only_its_owner_can_read_it(tmp_path):
    config = Config(data_dir=tmp_path / "new" / "var")

    secret = private_files.load_secret_key(config)

    assert len(secret) >= 50
    assert private_files.load_secret_key(config) == secret
    [file] = config.data_dir.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_processes_that_start_in_parallel_have_the_same_secret(tmp_path):
    config = Config(data_dir=tmp_path)

    with ThreadPoolExecutor(8) as pool:
        secrets = {pool.submit(private_files.load_secret_key, config) for _ in range(8)}
    assert len({secret.result() for secret in secrets}) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_configured_secret_is_used_without_a_file(tmp_path):
    given = "x" * 50

    assert (
        private_files.load_secret_key(Config(data_dir=tmp_path, secret_key=given))
        == given
    )
    assert not list(tmp_path.iterdir())


def test_every_part_of_a_postgresql_url_reaches_django():
    url = "postgresql://alice:p%40ss%2Fword@db.example:6432/readback?sslmode=require"

    settings = databases.default(Config(database_url=url))

    assert {name: settings[name] for name in ("HOST", "PORT", "USER", "NAME")} == {
        "HOST": "db.example",
        "PORT": "6432",
        "USER": "alice",
        "NAME": "readback",
    }
    assert settings["PASSWORD"] == "p@ss/word"
    assert settings["OPTIONS"]["sslmode"] == "require"


def test_nothing_on_postgresql_outlives_a_transaction():
    settings = databases.default(Config(database_url="postgresql://localhost/readback"))

    assert settings["DISABLE_SERVER_SIDE_CURSORS"] is True
    assert settings["OPTIONS"]["prepare_threshold"] is None


def test_an_error_in_a_postgresql_url_does_not_show_the_password():
    url = "postgresql://alice:hunter2@localhost/readback?no_such_option=1"

    with pytest.raises(ConfigError) as error:
        databases.default(Config(database_url=url))
    assert "READBACK_DATABASE_URL" in str(error.value)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "ssl"),
    [
        ("smtp://mail.example", "mail.example", 25, False, False),
        ("smtp://a:b@mail.example:587", "mail.example", 587, True, False),
        ("smtps://a:b@mail.example", "mail.example", 465, False, True),
    ],
)
def test_mail_is_encrypted_if_there_is_a_password(url, host, port, tls, ssl):
    settings = backends.settings(url)

    assert (settings["EMAIL_HOST"], settings["EMAIL_PORT"]) == (host, port)
    assert settings["EMAIL_USE_TLS"] is tls
    assert settings["EMAIL_USE_SSL"] is ssl


def test_a_power_cut_leaves_no_secret_or_a_whole_one(tmp_path, monkeypatch):
    done: list[str] = []
    sync = os.fsync
    link = os.link

    def recorded_sync(descriptor):
        sync(descriptor)
        done.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    def recorded_link(source, target):
        link(source, target)
        done.append("link")

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(os, "link", recorded_link)

    private_files.load_secret_key(Config(data_dir=tmp_path))

    # The content is on the disk before its name is, and the name before it is used.
    content, *rest = done
    assert content.startswith(str(tmp_path / "secret-key."))
    assert rest == ["link", str(tmp_path)]
