"""What the brand folder may contain, and what is said about everything else."""

import os
import re
from email import message_from_bytes, policy
from itertools import product
from pathlib import Path

import pytest
from django.core.mail import EmailMessage
from django.utils import translation

import readback.cabinet
from readback.cabinet.mail import backends
from readback.cabinet.serving import brand, brand_parts
from readback.config import Config, ConfigError
from tests.support.brand_folder import LOGO, fill, png

STYLES = Path(readback.cabinet.__file__).parent / "static" / "cabinet" / "cabinet.css"


def read(folder: Path) -> brand.Brand:
    return brand.read(Config(site_name="Aurora", brand_dir=folder))


def problem(folder: Path, name: str, content: str | bytes) -> str:
    """Return what is said about a folder with this file alone."""
    data = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(data)
    with pytest.raises(ConfigError) as raised:
        read(folder)
    [line] = raised.value.problems
    assert line.startswith("READBACK_BRAND_DIR: ") and line.endswith(".")
    return line


def test_every_file_is_read_once_at_the_start(tmp_path):
    found = read(fill(tmp_path))
    for path in tmp_path.iterdir():
        path.unlink()

    assert set(found.files) == {
        *("/brand/logo.svg", "/brand/logo-dark.png", "/brand/favicon.png"),
        *("/brand/card.png", "/brand/colours.css", "/favicon.ico"),
    }
    assert found.files["/favicon.ico"].content == png(32, 32)
    assert list(found.pages) == ["imprint", "terms"]
    assert found.sender == 'Aurora "IT"'


def test_without_a_folder_it_is_the_software(tmp_path):
    assert brand.read(Config()) == brand.Brand("Readback", sender="Readback")
    assert read(tmp_path) == brand.Brand("Aurora", sender="Aurora")


def test_a_text_is_in_the_language_of_its_reader_if_it_exists(tmp_path):
    found = read(fill(tmp_path))
    with translation.override("ru"):
        terms, imprint = (found.pages[name].title for name in ("terms", "imprint"))
        assert (str(terms), terms.language) == ("Условия", "ru")
        assert (str(imprint), imprint.language) == ("Imprint", "en")
    assert str(found.pages["terms"].title) == "Terms of use"


def test_a_wide_logo_is_the_name_itself(tmp_path):
    (tmp_path / "logo.png").write_bytes(png(300, 100))
    assert read(tmp_path).logo.is_wordmark
    fill(tmp_path)
    (tmp_path / "logo.png").unlink()
    assert not read(tmp_path).logo.is_wordmark


def test_files_that_belong_to_the_system_are_ignored(tmp_path):
    """Kubernetes mounts a ConfigMap as links into a folder with two dots."""
    real = tmp_path / "..2026_11_17"
    real.mkdir()
    (real / "logo.svg").write_text(LOGO)
    (tmp_path / "..data").symlink_to(real)
    (tmp_path / "logo.svg").symlink_to("..data/logo.svg")
    (tmp_path / ".DS_Store").write_text("x")

    assert list(read(tmp_path).files) == ["/brand/logo.svg"]


CUT = png(64, 64)[:-30]
DAMAGED = png(64, 64).replace(b"IDAT\x78", b"IDAT\x79")
ENTITIES = f'<!DOCTYPE svg [<!ENTITY a "aaaa">]>{LOGO}'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("logo.png", b"GIF89a", "is not a PNG picture"),
        ("logo.png", CUT, "is a PNG picture that is cut off"),
        ("logo.png", DAMAGED, "is a damaged PNG picture"),
        ("logo.png", png(4097, 1), "has more than 4096 pixels on one side"),
        ("logo.png", png(1, 1) + bytes(64 * 1024), "is larger than 64 KiB"),
        ("logo.svg", LOGO[:-6], "is not an SVG picture: no element found"),
        ("logo.svg", "<html></html>", "its root is not an svg element"),
        ("logo.svg", "", "is not an SVG picture"),
        ("logo.svg", ENTITIES, "defines entities"),
        ("logo.svg", LOGO.replace("viewBox", "x"), "without width or height"),
        ("favicon.ico", b"\x89PNG", "is not an ICO picture"),
        ("logo-dark.svg", LOGO, "a logo for dark pages needs one for light pages"),
        ("Logo.svg", LOGO, "did you mean logo.svg"),
        ("logo_dark.svg", LOGO, "did you mean logo-dark.svg"),
        ("terms.md", "# Terms", "is not a file that belongs here"),
        ("terms\x1b[31m\n.en.md", "# Terms", "'terms\\x1b[31m\\n.en.md' is not a file"),
        ("terms.en.md", "Terms without a title", "must begin with its title"),
        ("terms.en.md", "    # Code, not a title", "must begin with its title"),
        ("terms.en.md", "", "must begin with its title"),
        ("terms.en.md", "# #", "must begin with its title"),
        ("terms.en.md", f"# {'x' * 61}", "must begin with its title"),
        ("terms.en.md", f"# x{' ' * 16_000}x", "must begin with its title"),
        ("terms.en.md", b"# Terms \xff", "is not UTF-8 text"),
        ("terms.en.md", "# x\n" + "x" * 131_072, "is larger than 128 KiB"),
        ("brand.toml", "accent = ", "is not valid TOML"),
        ("brand.toml", 'accent = "red"', 'needs an accent like "#0b6e63"'),
        ("brand.toml", 'accent = "#ffee00"', "its contrast is 1.1 and must be at"),
        ("brand.toml", 'colour = "#ffee00"', "'colour' is none of them"),
        ("brand.toml", 'mail_sender = "a\\nb"', "mail_sender that must be one line"),
        ("brand.toml", 'sentence = "Hello"', "must have [sentence] with en or ru"),
        ("brand.toml", '[sentence]\nde = "Hallo"', "must have [sentence] with en or"),
        ("brand.toml", '[mail_footer]\nen = "a\\u0007"', "must have [mail_footer]"),
    ],
)
def test_a_bad_file_is_named(tmp_path, name, content, words):
    line = problem(tmp_path, name, content)
    assert words in line
    assert "\n" not in line and "\x1b" not in line


def test_what_is_no_file_or_leads_elsewhere_is_named(tmp_path):
    elsewhere = tmp_path / "elsewhere.svg"
    elsewhere.write_text(LOGO)
    folder = tmp_path / "brand"
    folder.mkdir()
    (folder / "logo.svg").symlink_to(elsewhere)
    os.mkfifo(folder / "favicon.png")  # reading it would never return
    (folder / "card.png").mkdir()
    (folder / "terms.en.md").symlink_to("terms.en.md")

    with pytest.raises(ConfigError) as raised:
        read(folder)
    assert [line.split(": ", 1)[1] for line in raised.value.problems] == [
        "'card.png' is not a file.",
        "'favicon.png' is not a file.",
        "'logo.svg' is a link that leads out of the folder.",
        "'terms.en.md' is not a file.",
    ]


def test_a_folder_that_cannot_be_read_and_two_logos_are_named(tmp_path):
    with pytest.raises(ConfigError, match="No such file or directory"):
        read(tmp_path / "missing")
    (tmp_path / "logo.svg").write_text(LOGO)
    assert "in another format" in problem(tmp_path, "logo.png", png(9, 9))


@pytest.mark.parametrize(
    "text", ["# Terms", "\n \r\n\t\n#  Terms  ##  \r\ntext", "# `Terms`#\n"]
)
def test_the_title_of_a_page_is_its_first_heading(tmp_path, text):
    (tmp_path / "terms.en.md").write_bytes(text.encode())

    assert read(tmp_path).pages["terms"].title == {"en": "Terms"}


def test_an_endless_number_in_a_picture_is_refused(tmp_path):
    digits = "1" * 30_000
    logo = LOGO.replace("0 0 40 40", f"0 0 {digits}x {digits}")

    assert "without width or height" in problem(tmp_path, "logo.svg", logo)


# The corners of the colour space and what is between them.
ACCENTS = [f"#{''.join(each)}" for each in product(("00", "40", "7a", "c0"), repeat=3)]


def test_derived_colours_keep_the_contrast():
    usable = 0
    for colour in ACCENTS:
        try:
            found = brand_parts.derive(colour)
        except ValueError as error:
            better = re.findall("#[0-9a-f]{6}", str(error))[1]
            found = brand_parts.derive(better)
        else:
            usable += 1
        for palette, surface in zip(
            found, (brand_parts.LIGHT, brand_parts.DARK), strict=True
        ):
            pairs = [
                (palette.accent, surface.background),
                (palette.accent, surface.panel),
                (palette.accent, palette.on_accent),
                (surface.text, palette.highlight),
            ]
            assert min(brand_parts.contrast(*pair) for pair in pairs) >= 4.5, colour
    assert 20 < usable < len(ACCENTS)


def test_our_own_colours_are_those_of_the_styles():
    styles = STYLES.read_text("utf-8")

    def values(*names: str) -> tuple[tuple[str, ...], ...]:
        found = [re.findall(rf"--{name}: (#\w+);", styles) for name in names]
        return tuple(zip(*found, strict=True))

    assert values("accent", "on-accent", "highlight") == brand_parts.OURS
    assert values("background", "panel", "text") == (
        brand_parts.LIGHT,
        brand_parts.DARK,
    )


@pytest.mark.parametrize("name", ['Aurora "A"', "Аврора", "A <b@c> & D\\", "a,b;c:d"])
def test_the_sender_has_the_name_of_the_site(name):
    mail = EmailMessage(from_email=backends.sender("a@example.org", name)).message()
    parsed = message_from_bytes(mail.as_bytes(), policy=policy.default)
    [address] = parsed["From"].addresses
    assert (address.display_name, address.addr_spec) == (name, "a@example.org")


def test_a_name_in_the_setting_of_the_sender_is_kept():
    assert backends.sender("Bob <b@example.org>", "Aurora") == '"Bob" <b@example.org>'
