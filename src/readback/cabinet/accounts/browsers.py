"""Names of browsers and systems, for the list of sessions. Pure.

Only these names are stored, never what the browser sent.
"""

from typing import NamedTuple

# The first match counts: most browsers also call themselves Chrome or Safari.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("YaBrowser/", "Yandex Browser"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


class Browser(NamedTuple):
    """A browser and its system; a name that is not known is empty."""

    name: str
    system: str


def recognise(user_agent: str) -> Browser:
    return Browser(_first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent))


def _first(names: tuple[tuple[str, str], ...], user_agent: str) -> str:
    return next((name for part, name in names if part in user_agent), "")
