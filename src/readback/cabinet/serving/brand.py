"""What this installation is called and looks like: READBACK_SITE_NAME and a folder.

READBACK_BRAND_DIR is read once, when Django's settings are: a file that changes or
disappears later has no effect before the next start. Nothing in the folder is trusted
to be harmless: pictures are served with a policy that allows no script and never become
part of a page, and Markdown is rendered as the documentation is, by `pages/docs.py`.
"""

import hashlib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.utils.translation import get_language

from readback.cabinet.serving import brand_parts
from readback.cabinet.serving.brand_parts import Colours
from readback.config import Config
from readback.setting_values import SOFTWARE, ConfigError, site_name

# The pages of the documentation have the same ones.
LANGUAGES = ("en", "ru")
TEXTS = "brand.toml"
_PICTURES = {
    "logo": ("svg", "png"),
    "logo-dark": ("svg", "png"),
    "favicon": ("svg", "png", "ico"),
    "card": ("png",),
}
_PICTURE_NAMES = {
    f"{name}.{end}": name for name in _PICTURES for end in _PICTURES[name]
}
_PAGE = re.compile(rf"([a-z0-9][a-z0-9-]{{0,39}})\.({'|'.join(LANGUAGES)})\.md")
# A logo is loaded by every page; a card by other sites alone.
_MAX_BYTES = {"card": 512 * 1024}
_MAX_PICTURE, _MAX_PAGE, _MAX_TEXTS = 64 * 1024, 128 * 1024, 16 * 1024
_MAX_PAGES, _MAX_TEXT, _MAX_TITLE = 12, 500, 60
# Wider ones are taken for the name itself, in letters of its own.
_WORDMARK_RATIO = 2
# Styles inside of the picture are usual. Opened by itself, it can do nothing else.
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class BrandFile(NamedTuple):
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


class Picture(NamedTuple):
    path: str
    content_type: str
    ratio: float  # of the width to the height
    height: int = 32

    @property
    def width(self) -> int:
        return max(1, round(self.height * self.ratio))

    @property
    def is_wordmark(self) -> bool:
        return self.ratio > _WORDMARK_RATIO


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
    sender: str = ""
    colours: Colours = brand_parts.OURS
    stylesheet: str = ""
    logo: Picture | None = None
    logo_dark: Picture | None = None
    favicon: Picture | None = None
    card: Picture | None = None
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


def read(config: Config) -> Brand:
    """Return the brand; raise `ConfigError` with a line for each file that is wrong."""
    brand = Brand(config.site_name, config.home_url, sender=config.site_name)
    if config.brand_dir is None:
        return brand
    reader = _FolderReader(config.brand_dir)
    changes = reader.read()
    if reader.problems:
        raise ConfigError(*(f"READBACK_BRAND_DIR: {one}." for one in reader.problems))
    return replace(brand, **changes)


class _FolderReader:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self._files: dict[str, BrandFile] = {}
        self._pages: dict[str, BrandPage] = {}

    def read(self) -> dict[str, Any]:
        """Return the fields of `Brand` that the folder decides."""
        try:
            # Names with a dot belong to the system: of Kubernetes, git, macOS.
            names = sorted(n for n in os.listdir(self.folder) if not n.startswith("."))
        except OSError as error:
            self.problems.append(f"{self.folder} cannot be read: {error.strerror}")
            return {}
        changes: dict[str, Any] = {}
        for name in names:
            try:
                changes |= self._read_file(name)
            except ValueError as error:
                self.problems.append(f"{name!r} {error}")
        if len(self._pages) > _MAX_PAGES:
            self.problems.append(f"there are more than {_MAX_PAGES} pages")
        if "logo_dark" in changes and "logo" not in changes:
            self.problems.append("a logo for dark pages needs one for light pages")
        return changes | {"pages": self._pages, "files": self._files}

    def _read_file(self, name: str) -> dict[str, Any]:
        if name in _PICTURE_NAMES:
            return self._read_picture(_PICTURE_NAMES[name], name)
        if match := _PAGE.fullmatch(name):
            self._read_page(name, *match.groups())
            return {}
        if name == TEXTS:
            return self._read_texts(self._text_of(name, _MAX_TEXTS))
        similar = get_close_matches(name.lower(), (*_PICTURE_NAMES, TEXTS), n=1)
        hint = f"did you mean {similar[0]}?" if similar else "remove it"
        raise ValueError(f"is not a file that belongs here; {hint}".removesuffix("?"))

    def _content_of(self, name: str, limit: int) -> bytes:
        path = self.folder / name
        # Neither a folder nor a pipe, which would let the start wait.
        if not path.is_file():
            raise ValueError("is not a file")
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise ValueError("is a link that leads out of the folder")
        try:
            with path.open("rb") as file:
                content = file.read(limit + 1)
        except OSError as error:
            raise ValueError(f"cannot be read: {error.strerror}") from None
        if len(content) > limit:
            raise ValueError(f"is larger than {limit // 1024} KiB")
        return content

    def _text_of(self, name: str, limit: int) -> str:
        try:
            return self._content_of(name, limit).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError("is not UTF-8 text") from None

    def _read_picture(self, role: str, name: str) -> dict[str, Any]:
        end = name.rpartition(".")[2]
        content = self._content_of(name, _MAX_BYTES.get(role, _MAX_PICTURE))
        ratio = brand_parts.ratio_of(end, content)
        others = [f"{role}.{other}" for other in _PICTURES[role] if other != end]
        if any(f"/brand/{other}" in self._files for other in others):
            raise ValueError("is there in another format, too; keep one of them")
        path = f"/brand/{name}"
        self._files[path] = BrandFile(brand_parts.TYPES[end], content)
        if role == "favicon":  # for programs that ask for it by its usual name
            self._files["/favicon.ico"] = self._files[path]
        picture = Picture(path, brand_parts.TYPES[end], ratio)
        return {role.replace("-", "_"): picture}

    def _read_page(self, name: str, page: str, language: str) -> None:
        text = self._text_of(name, _MAX_PAGE)
        first = next((line for line in text.split("\n") if line.strip(" \t\r")), "")
        title = first.removeprefix("# ").rstrip().rstrip("#").strip()
        if not first.startswith("# ") or not 0 < len(title) <= _MAX_TITLE:
            raise ValueError(
                f"must begin with its title, of at most {_MAX_TITLE} characters: "
                "# Terms of use"
            )
        read = self._pages.setdefault(page, BrandPage(Texts(), Texts()))
        read.title[language] = re.sub(r"[`*]", "", title)
        read.markdown[language] = text

    def _read_texts(self, text: str) -> dict[str, Any]:
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"is not valid TOML: {error}") from None
        changes: dict[str, Any] = {}
        for name, value in values.items():
            if name == "accent":
                changes["colours"] = colours = _colours(value)
                changes["stylesheet"] = path = "/brand/colours.css"
                self._files[path] = BrandFile("text/css", colours.css.encode())
            elif name == "mail_sender" and isinstance(value, str) and value:
                changes["sender"] = _sender(value)
            elif name in ("sentence", "mail_footer"):
                changes[name] = _texts(name, value)
            else:
                raise ValueError(
                    f"may have accent, mail_sender, [sentence] and [mail_footer]; "
                    f"{name!r} is none of them, or no text"
                )
        return changes


def _colours(value: object) -> Colours:
    if not isinstance(value, str) or not re.fullmatch("#[0-9a-fA-F]{6}", value):
        raise ValueError('needs an accent like "#0b6e63"')
    try:
        return brand_parts.derive(value.lower())
    except ValueError as error:
        raise ValueError(f"has an accent that cannot be used: {error}") from None


def _sender(value: str) -> str:
    try:
        return site_name(value.strip())
    except ValueError as error:
        raise ValueError(
            f"has a mail_sender that {error.args[0].rstrip('.')}"
        ) from None


def _texts(name: str, value: object) -> Texts:
    texts = value if isinstance(value, dict) else {}
    is_valid = texts and all(
        language in LANGUAGES
        and isinstance(text, str)
        and 0 < len(text.strip()) <= _MAX_TEXT
        and text.replace("\n", "").isprintable()
        for language, text in texts.items()
    )
    if not is_valid:
        raise ValueError(
            f"must have [{name}] with en or ru, or both: plain text of at most "
            f"{_MAX_TEXT} characters"
        )
    return Texts({language: text.strip() for language, text in texts.items()})
