"""The name and look of this installation: READBACK_SITE_NAME and READBACK_BRAND_DIR.

The folder is read once, together with Django's settings: changes take effect at the
next start. It belongs to the operator, so its pictures are not checked; they are served
with a policy that allows no scripts.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from readback.config import Config
from readback.setting_values import SOFTWARE, ConfigError

TEXTS = "brand.toml"
_PICTURES = ("logo", "logo-dark", "favicon")
_TYPES = {"svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon"}
# The names and types of the values in TEXTS.
_FORMS: dict[str, type] = {
    **dict.fromkeys(("accent", "accent_dark", "notice", "mail_footer"), str),
    "logo_has_name": bool,
    "links": dict,
}
_LINK_STARTS = ("https://", "http://", "mailto:")
# SVG pictures usually contain styles. If opened directly, they may do nothing else.
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


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


@dataclass(frozen=True)
class Brand:
    name: str
    # For light and dark pages; cabinet.css has the same defaults.
    accent: str = "#0b6e63"
    accent_dark: str = "#63cdbb"
    logo: BrandFile | None = None
    logo_dark: BrandFile | None = None
    # Whether the logo contains the name, which is then not written beside it.
    logo_has_name: bool = False
    favicon: BrandFile | None = None
    notice: str = ""
    mail_footer: str = ""
    # In the footer of every page: names and URLs.
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        return self.name == SOFTWARE

    @cached_property
    def stylesheet(self) -> BrandFile | None:
        if (self.accent, self.accent_dark) == (Brand.accent, Brand.accent_dark):
            return None
        styles = (
            f":root {{ --accent: {self.accent}; }}\n"
            "@media (prefers-color-scheme: dark) {\n"
            f"  :root {{ --accent: {self.accent_dark}; }}\n}}\n"
        )
        return BrandFile("/brand/colours.css", "text/css", styles.encode())

    @cached_property
    def files(self) -> dict[str, BrandFile]:
        """The files, by the paths at which they are served."""
        own = (self.logo, self.logo_dark, self.favicon, self.stylesheet)
        files = {file.path: file for file in own if file}
        if self.favicon:  # programs request it under this name
            files["/favicon.ico"] = self.favicon
        return files


def read(config: Config) -> Brand:
    """Return the brand; raise a `ConfigError` that names an invalid file."""
    brand = Brand(config.site_name)
    folder = config.brand_dir
    if folder is None:
        return brand
    path = folder
    try:
        for path in sorted(folder.iterdir()):
            brand = replace(brand, **_read_file(path))
    except OSError as error:
        problem = f"{path} cannot be read: {error.strerror}"
        raise ConfigError(f"READBACK_BRAND_DIR: {problem}.") from None
    except ValueError as error:
        raise ConfigError(f"READBACK_BRAND_DIR: {path.name!r}: {error}.") from None
    return brand


def _read_file(path: Path) -> dict[str, Any]:
    """Return what a file changes in the brand: nothing if its name is unknown."""
    suffix = path.suffix.removeprefix(".")
    if path.stem in _PICTURES and suffix in _TYPES:
        picture = BrandFile(f"/brand/{path.name}", _TYPES[suffix], path.read_bytes())
        return {path.stem.replace("-", "_"): picture}
    if path.name.endswith((".en.md", ".ru.md")):
        # Version 1.0.0 served such pages. The law may require some, so report them.
        raise ValueError(f"it is not shown; link to such a page in [links] of {TEXTS}")
    if path.name != TEXTS:
        return {}
    values = tomllib.loads(path.read_text("utf-8-sig"))
    for name, value in values.items():
        if not isinstance(value, _FORMS.get(name, ())):
            raise ValueError(f"{name} is unknown, or has another form")
    for name, url in values.get("links", {}).items():
        if not str(url).startswith(_LINK_STARTS):
            raise ValueError(f"the link {name} must begin with https:// or mailto:")
    return values
