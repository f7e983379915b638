"""What the brand folder may contain, and the errors for everything else."""

import re
from email import message_from_bytes, policy
from pathlib import Path

import pytest
from django.core.mail import EmailMessage

import readback.cabinet
from readback.cabinet.mail import backends
from readback.cabinet.pages import brand
from readback.config import Config, ConfigError
from tests.support.brand_folder import fill, png

STYLES = Path(readback.cabinet.__file__).parent / "static" / "cabinet" / "cabinet.css"


def read(folder: Path) -> brand.Brand:
    return brand.read(Config(site_name="Aurora", brand_dir=folder))


def test_every_file_is_read_once_at_the_start(tmp_path):
    found = read(fill(tmp_path))
    for path in tmp_path.iterdir():
        path.unlink()

    assert set(found.files) == {
        *("/brand/logo.svg", "/brand/logo-dark.png", "/brand/favicon.png"),
        *("/brand/colours.css", "/favicon.ico"),
    }
    assert found.files["/favicon.ico"].content == png(32, 32)
    assert b"--accent: #7a1f5c" in found.files["/brand/colours.css"].content


def test_without_a_folder_it_is_the_software(tmp_path):
    assert brand.read(Config()) == brand.Brand("Readback")
    assert read(tmp_path) == brand.Brand("Aurora")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("brand.toml", "accent = ", "Invalid value"),
        ("brand.toml", 'colour = "#ffee00"', "colour is unknown"),
        ("brand.toml", "notice = 5", "notice is unknown, or has another form"),
        ("brand.toml", "[notice]\nen = 'Closed'", "notice is unknown, or has another"),
        ("brand.toml", "[links]\nTerms = 5", "the link Terms must begin with https://"),
        ("brand.toml", "[links]\nTerms = 'x.example'", "the link Terms must begin"),
        ("terms.en.md", "# Terms", "link to such a page in [links] of brand.toml"),
    ],
)
def test_a_bad_file_is_named(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError) as raised:
        read(tmp_path)
    [line] = raised.value.problems
    assert line.startswith(f"READBACK_BRAND_DIR: {name!r}: ") and words in line


def test_a_folder_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match="No such file or directory"):
        read(tmp_path / "missing")


def test_our_own_colours_are_those_of_the_styles():
    ours = brand.Brand("Readback")
    found = re.findall(r"--accent: (#\w+);", STYLES.read_text("utf-8"))
    assert found == [ours.accent, ours.accent_dark]


@pytest.mark.parametrize("name", ['Aurora "A"', "Аврора", "A <b@c> & D\\", "a,b;c:d"])
def test_the_sender_has_the_name_of_the_site(name):
    mail = EmailMessage(from_email=backends.sender("a@example.org", name)).message()
    parsed = message_from_bytes(mail.as_bytes(), policy=policy.default)
    [address] = parsed["From"].addresses
    assert (address.display_name, address.addr_spec) == (name, "a@example.org")


def test_a_name_in_the_setting_of_the_sender_is_kept():
    assert backends.sender("Bob <b@example.org>", "Aurora") == '"Bob" <b@example.org>'
