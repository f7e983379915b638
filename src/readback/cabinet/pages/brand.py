"""The name and look of this installation: READBACK_SITE_NAME and READBACK_BRAND_DIR.

The folder is read once, together with Django's settings: changes take effect at the
next start. It belongs to the operator, so its pictures are not checked; they are served
with a policy that allows no scripts. Markdown is rendered like the documentation.
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
from readback.setting_values import SOFTWARE, ConfigError

# The documentation has the same languages.
LANGUAGES = ("en", "ru")
TEXTS = "brand.toml"
_PICTURES = ("logo", "logo-dark", "favicon", "card")
_TYPES = {"svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon"}
_PAGE = re.compile(rf"([a-z0-9][a-z0-9-]{{0,39}})\.({'|'.join(LANGUAGES)})\.md")
_TITLE = re.compile(r"\s*# +(\S.*)")
# The names and types of the values in TEXTS.
_FORMS: dict[str, type] = {
    **dict.fromkeys(("accent", "accent_dark"), str),
    **dict.fromkeys(("notice", "sentence", "mail_footer"), dict),
    "logo_has_name": bool,
}
# A hexadecimal value, a name, or a function such as rgb().
_COLOUR = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}|[a-z]+(?:\([^;{}()]*\))?")
# SVG pictures usually contain styles, and may do nothing else when opened directly.
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
        # Cached for as long as the cabinet's own styles and scripts.
        headers["Cache-Control"] = "max-age=60, public"
        if self.content_type.startswith("image/"):
            headers["Content-Security-Policy"] = _PICTURE_POLICY
        return headers


class Texts(dict[str, str]):
    """A text in one or two languages; str() returns the reader's, if possible."""

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
    """The brand, as templates and e-mails use it. `files` maps each served path to its
    file.
    """

    name: str
    home_url: str = ""
    # For light and dark pages; cabinet.css has the same defaults.
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


def read(config: Config) -> Brand:
    """Return the brand; raise a `ConfigError` that names an invalid file."""
    brand = Brand(config.site_name, config.home_url)
    if config.brand_dir is None:
        return brand
    path = config.brand_dir
    changes = dict[str, Any](pages={}, files={})
    try:
        for path in sorted(config.brand_dir.iterdir()):
            if path.is_file():
                _read_file(path, changes)
    except OSError as error:
        problem = f"{path} cannot be read: {error.strerror}"
        raise ConfigError(f"READBACK_BRAND_DIR: {problem}.") from None
    except ValueError as error:
        raise ConfigError(f"READBACK_BRAND_DIR: {path.name!r}: {error}.") from None
    return replace(brand, **changes)


def _read_file(path: Path, changes: dict[str, Any]) -> None:
    """Add the content of a file; ignore unknown files."""
    suffix = path.suffix.removeprefix(".")
    if path.stem in _PICTURES and suffix in _TYPES:
        picture = BrandFile(f"/brand/{path.name}", _TYPES[suffix], path.read_bytes())
        changes[path.stem.replace("-", "_")] = picture
        changes["files"][picture.path] = picture
        if path.stem == "favicon":  # programs request it under this name
            changes["files"]["/favicon.ico"] = picture
    elif match := _PAGE.fullmatch(path.name):
        page, language = match.groups()
        text = path.read_text("utf-8-sig")
        if not (title := _TITLE.match(text)):
            raise ValueError("a page must begin with its title: # Terms of use")
        read = changes["pages"].setdefault(page, BrandPage(Texts(), Texts()))
        read.title[language] = re.sub(r"[`*]", "", title[1]).rstrip("# ")
        read.markdown[language] = text
    elif path.name == TEXTS:
        for name, value in tomllib.loads(path.read_text("utf-8-sig")).items():
            if not isinstance(value, _FORMS.get(name, ())):
                raise ValueError(f"{name} is unknown, or has another form")
            if isinstance(value, str) and not _COLOUR.fullmatch(value):
                raise ValueError(f"{name} is not a colour such as #7a1f5c")
            changes[name] = _texts(name, value) if isinstance(value, dict) else value
        if "accent" in changes or "accent_dark" in changes:
            light = changes.get("accent", Brand.accent)
            styles = _styles(light, changes.get("accent_dark", Brand.accent_dark))
            changes["stylesheet"] = _STYLES
            changes["files"][_STYLES] = BrandFile(_STYLES, "text/css", styles)


def _texts(name: str, value: dict[str, Any]) -> Texts:
    for language, text in value.items():
        is_text = isinstance(text, str) and bool(text.strip())
        if language not in LANGUAGES or not is_text:
            languages = " or ".join(LANGUAGES)
            raise ValueError(f"{name} must have a text for {languages}, and no other")
    return Texts(value)


def _styles(light: str, dark: str) -> bytes:
    """Return the colours as CSS; the browser mixes a pale background from each."""

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
