"""What this installation is called and looks like: READBACK_SITE_NAME and a folder.

READBACK_BRAND_DIR is read once, when Django's settings are: a file that changes or
disappears later has no effect before the next start. The folder is the operator's own,
so its pictures are not checked. All the same they are served with a policy that allows
no script and never become part of a page, and Markdown is rendered as the documentation
is, by `pages/docs.py`.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.utils.translation import get_language

from readback.config import Config
from readback.setting_values import SOFTWARE, ConfigError, site_name

# The pages of the documentation have the same ones.
LANGUAGES = ("en", "ru")
TEXTS = "brand.toml"
_PICTURES = ("logo", "logo-dark", "favicon", "card")
_TYPES = {"svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon"}
_PAGE = re.compile(rf"([a-z0-9][a-z0-9-]{{0,39}})\.({'|'.join(LANGUAGES)})\.md")
_TITLE = re.compile(r"\s*# +(\S.*)")
_COLOUR = re.compile("#[0-9a-fA-F]{6}")
# Styles inside of the picture are usual. Opened by itself, it can do nothing else.
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_STYLES = "/brand/colours.css"


class BrandFile(NamedTuple):
    path: str
    content_type: str
    content: bytes

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": self.content_type, "ETag": self.etag}
        # As long as the styles and scripts beside it.
        headers["Cache-Control"] = "max-age=60, public"
        if self.content_type.startswith("image/"):
            headers["Content-Security-Policy"] = _PICTURE_POLICY
        return headers


class Texts(dict[str, str]):
    """A text in one language or in both; as a string, in the reader's if possible."""

    @property
    def language(self) -> str:
        wanted = get_language() or ""
        return wanted if wanted in self else next(iter(self), "")

    def __str__(self) -> str:
        return self.get(self.language, "")


class BrandPage(NamedTuple):
    title: Texts
    markdown: Texts


@dataclass(frozen=True)
class Brand:
    """What templates and mails use; `files` is what is served, by path."""

    name: str
    home_url: str = ""
    mail_sender: str = ""
    # On light and on dark pages; cabinet.css has the same ones.
    accent: str = "#0b6e63"
    accent_dark: str = "#63cdbb"
    stylesheet: str = ""
    logo: BrandFile | None = None
    logo_dark: BrandFile | None = None
    # Whether the logo contains the name, which is then not written beside it.
    logo_has_name: bool = False
    favicon: BrandFile | None = None
    card: BrandFile | None = None
    notice: Texts = field(default_factory=Texts)
    sentence: Texts = field(default_factory=Texts)
    mail_footer: Texts = field(default_factory=Texts)
    pages: Mapping[str, BrandPage] = field(default_factory=dict)
    files: Mapping[str, BrandFile] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        return self.name == SOFTWARE

    @property
    def home_name(self) -> str:
        return (urlsplit(self.home_url).hostname or "").removeprefix("www.")

    @property
    def sender(self) -> str:
        return self.mail_sender or self.name


def read(config: Config) -> Brand:
    """Return the brand; raise `ConfigError` with a line for each file that is wrong."""
    brand = Brand(config.site_name, config.home_url)
    if config.brand_dir is None:
        return brand
    problems = []
    changes: dict[str, Any] = {"pages": {}, "files": {}}
    try:
        files = sorted(path for path in config.brand_dir.iterdir() if path.is_file())
    except OSError as error:
        files = []
        problems.append(f"{config.brand_dir} cannot be read: {error.strerror}")
    for path in files:
        try:
            _read_file(path, changes)
        except OSError as error:
            problems.append(f"{path.name!r} cannot be read: {error.strerror}")
        except ValueError as error:
            problems.append(f"{path.name!r} {error}")
    if problems:
        raise ConfigError(*(f"READBACK_BRAND_DIR: {one}." for one in problems))
    return replace(brand, **changes)


def _read_file(path: Path, changes: dict[str, Any]) -> None:
    """Add what a file says to the fields of `Brand`; other files are ignored."""
    kind = path.suffix.removeprefix(".")
    if path.stem in _PICTURES and kind in _TYPES:
        picture = BrandFile(f"/brand/{path.name}", _TYPES[kind], path.read_bytes())
        changes[path.stem.replace("-", "_")] = picture
        changes["files"][picture.path] = picture
        if path.stem == "favicon":  # for programs that ask for it by its usual name
            changes["files"]["/favicon.ico"] = picture
    elif match := _PAGE.fullmatch(path.name):
        page, language = match.groups()
        text = path.read_text("utf-8-sig")
        if not (title := _TITLE.match(text)):
            raise ValueError("must begin with its title: # Terms of use")
        read = changes["pages"].setdefault(page, BrandPage(Texts(), Texts()))
        read.title[language] = re.sub(r"[`*]", "", title[1]).rstrip("# ")
        read.markdown[language] = text
    elif path.name == TEXTS:
        changes |= _read_texts(path.read_text("utf-8-sig"))
        if "accent" in changes:
            styles = _styles(changes["accent"], changes["accent_dark"])
            changes["stylesheet"] = _STYLES
            changes["files"][_STYLES] = BrandFile(_STYLES, "text/css", styles)


def _read_texts(text: str) -> dict[str, Any]:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is not valid TOML: {error}") from None
    if ("accent" in values) != ("accent_dark" in values):
        raise ValueError("needs accent and accent_dark together")
    changes: dict[str, Any] = {}
    for name, value in values.items():
        match name, value:
            case "accent" | "accent_dark", str() if _COLOUR.fullmatch(value):
                changes[name] = value.lower()
            case "mail_sender", str():
                changes[name] = site_name(value)
            case "logo_has_name", bool():
                changes[name] = value
            case "notice" | "sentence" | "mail_footer", dict() if _is_text(value):
                changes[name] = Texts(value)
            case _:
                raise ValueError(
                    'may have accent and accent_dark like "#0b6e63", mail_sender, '
                    "logo_has_name, and [notice], [sentence] and [mail_footer] with en "
                    f"or ru; {name!r} is none of them, or has another form"
                )
    return changes


def _is_text(value: dict[str, Any]) -> bool:
    return all(
        language in LANGUAGES and isinstance(text, str)
        for language, text in value.items()
    )


def _styles(light: str, dark: str) -> bytes:
    """Return the colours; the browser mixes a background that reminds of each."""

    def rule(accent: str, on_accent: str, share: str) -> str:
        highlight = f"color-mix(in srgb, {accent} {share}, var(--background))"
        return (
            f":root {{ --accent: {accent}; --on-accent: {on_accent}; "
            f"--highlight: {highlight}; }}\n"
        )

    in_the_dark = rule(dark, "#0d1d1a", "25%")
    return (
        f"{rule(light, '#ffffff', '16%')}"
        f"@media (prefers-color-scheme: dark) {{\n{in_the_dark}}}\n"
    ).encode()
