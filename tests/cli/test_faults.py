"""A command that cannot start prints one sentence and exits with code 3."""

import socket
import subprocess
from pathlib import Path

import pytest

EVERY_START = (["serve"], ["serve", "api"], ["serve", "cabinet"])
OTHERS = (
    ["migrate"],
    ["manage", "check"],
    ["account", "show", "alice@example.org"],
    ["key", "list", "alice@example.org"],
)


def assert_cannot_start(done: subprocess.CompletedProcess[str], *texts: str) -> None:
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for text in texts:
        assert text in done.stderr


@pytest.mark.parametrize(
    "command",
    [*EVERY_START, ["serve", "--ephemeral", "--json"], *OTHERS],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("name", "value"),
    [("READBACK_KEY_RATE", "fast"), ("READBACK_KEYRATE", "20")],
)
def test_the_message_names_an_invalid_or_unknown_setting(program, command, name, value):
    program.settings[name] = value

    assert_cannot_start(program.run(*command), name)


@pytest.mark.parametrize("part", ["API", "CABINET", "OPS"])
def test_the_message_for_a_port_in_use_names_address_and_setting(program, part):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        program.settings[f"READBACK_{part}_BIND"] = address

        done = program.run("serve")

    words = (address, "in use", "Set it to another address")
    assert_cannot_start(done, f"READBACK_{part}_BIND", *words)
    assert not Path(program.settings["READBACK_DATA_DIR"]).exists()


@pytest.mark.parametrize(
    ("bind", "reason"),
    [
        ("192.0.2.1:8000", "Cannot assign requested address"),
        ("no-such-host.invalid:8000", "no-such-host.invalid"),
        ("unix:/no/such/directory/socket", "No such file or directory"),
        ("unix:/etc/hostname", "not a socket"),
        (f"unix:/tmp/{'long' * 40}", "too long"),
    ],
)
def test_the_message_says_why_an_address_cannot_be_listened_on(program, bind, reason):
    program.settings["READBACK_API_BIND"] = bind

    assert_cannot_start(program.run("serve", "api"), "READBACK_API_BIND", reason)


def test_a_unix_socket_in_use_is_not_removed(program, tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        program.settings["READBACK_CABINET_BIND"] = f"unix:{path}"

        done = program.run("serve", "cabinet")

        assert_cannot_start(done, "READBACK_CABINET_BIND", "in use")
        assert path.exists()


@pytest.mark.parametrize("command", EVERY_START, ids=" ".join)
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://a:hunter2@127.0.0.1:9/x", "127.0.0.1"),
        ("sqlite:///notes.txt", "not a database"),
    ],
)
def test_an_unusable_database_is_one_sentence_without_the_password(
    program, tmp_path, command, url, reason
):
    (tmp_path / "notes.txt").write_text("These are notes and not a database.\n" * 99)
    program.settings["READBACK_DATABASE_URL"] = url

    done = program.run(*command)

    assert_cannot_start(done, "database cannot be used", reason)
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("command", [["serve"], ["migrate"]], ids=" ".join)
def test_an_unusable_database_path_is_one_sentence(program, tmp_path, command):
    (tmp_path / "file").write_text("")
    program.settings["READBACK_DATABASE_URL"] = f"sqlite:///{tmp_path}/file/x.sqlite3"

    assert_cannot_start(program.run(*command), "database cannot be used")


@pytest.mark.parametrize("part", ["api", "cabinet"])
def test_one_part_alone_asks_to_migrate_first(on_each_database, part):
    done = on_each_database.run("serve", part)

    assert_cannot_start(done, "readback migrate")


@pytest.mark.parametrize("command", [["serve"], ["serve", "api"]], ids=" ".join)
def test_an_invalid_certificate_is_one_sentence(program, tmp_path, command):
    (tmp_path / "pem").write_text("not a certificate")
    program.settings["READBACK_TLS_CERTIFICATE"] = str(tmp_path / "pem")
    program.settings["READBACK_TLS_KEY"] = str(tmp_path / "pem")

    assert_cannot_start(
        program.run(*command),
        f"READBACK_TLS_CERTIFICATE: {tmp_path}/pem cannot be used",
    )


@pytest.mark.parametrize(
    "command", [["key", "list", "a@b.org"], ["account", "show", "a@b.org"]]
)
def test_a_command_without_a_database_does_not_create_one(program, command):
    assert_cannot_start(program.run(*command), "There is no database")
    data = Path(program.settings["READBACK_DATA_DIR"])
    assert not (data / "readback.sqlite3").exists()


@pytest.mark.parametrize("content", [b"", b"x", b"\xff" * 64], ids=repr)
@pytest.mark.parametrize(
    "command", [["serve"], ["serve", "cabinet"], *OTHERS], ids=" ".join
)
def test_a_damaged_secret_key_is_one_sentence(migrated, command, content):
    path = Path(migrated.settings["READBACK_DATA_DIR"], "secret-key")
    path.write_bytes(content)

    done = migrated.run(*command)

    assert_cannot_start(done, "READBACK_DATA_DIR", f"{path} is damaged", "backup")
    assert path.read_bytes() == content


def test_the_same_address_in_two_settings_is_one_sentence(program):
    program.settings["READBACK_OPS_BIND"] = program.settings["READBACK_API_BIND"]

    done = program.run("serve", "api")

    assert_cannot_start(done, "READBACK_API_BIND", "Address already in use")


def test_each_part_alone_may_use_the_address_of_the_other(migrated):
    # Two containers with the same settings, each of which listens on port 8000.
    address = migrated.settings["READBACK_API_BIND"]
    migrated.settings["READBACK_CABINET_BIND"] = address

    with migrated.serving("api", until="Serving the API"):
        pass


def test_a_data_directory_that_is_a_file_is_one_sentence(program, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for path, secret in ((file, ""), (file, "x" * 60), (file / "data", "")):
        program.settings["READBACK_DATA_DIR"] = str(path)
        program.settings["READBACK_SECRET_KEY"] = secret

        done = program.run("serve")

        assert_cannot_start(done, str(file), "must be a directory")
