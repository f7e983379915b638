"""The values of settings: parsers, and the types that they return.

A parser returns the value, or raises ValueError with a message that says what the
setting must be; the caller prepends the variable's name.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from readback import keys
from readback.contract import VERSION_PREFIX

# The name of the software, and the default site name.
SOFTWARE = "Readback"
# The name is also in the QR code for authenticator apps, which must not be too dense.
SITE_NAME_LENGTH = 40
# Followed by the path, unchanged: sqlite:///var/x or sqlite:////srv/x.
SQLITE = "sqlite:///"
MIN_SECRET_KEY_LENGTH = 50
# The length of the column that stores the issuer.
ISSUER_LENGTH = 200
_DOMAIN = re.compile(
    r"(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}"
)
VARIABLE_PREFIX = "READBACK_"
SYSLOG = "syslog:"
# Read by the probe and by the tests; these are not settings of the service.
_OTHER_VARIABLES = frozenset({"READBACK_API_KEY", "READBACK_TEST_CHROMIUM"})
# A less similar name is not a typo; it may be a setting that only 1.0.0 had.
_LEAST_SIMILARITY = 0.85
# Kubernetes adds these to every pod if there is a Service called "readback".
_KUBERNETES = re.compile(r"READBACK_(\w+_)?(SERVICE_(HOST|PORT)|PORT(_|$))")


class ConfigError(Exception):
    """Settings are invalid; the message has a line for each problem.

    Each line names the variable and says what is allowed.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def security_log(value: str) -> str:
    """Check the destination for copies of the security log: none, a file or syslog."""
    if value in ("", SYSLOG) or value.startswith("/"):
        return value
    if value.startswith(f"{SYSLOG}//"):
        return url(f"{SYSLOG}//")(value)
    raise ValueError(f"must be an absolute path, {SYSLOG} or {SYSLOG}//host:port.")


def is_loopback(host: str) -> bool:
    """Return whether a name or an address always means this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_field(host: str) -> str:
    """Return a URL's host as browsers send it; raise ValueError if it is invalid."""
    if ":" in host:
        return f"[{ip_address(host)}]"
    return host if host.isascii() else host.encode("idna").decode()


class Bind(NamedTuple):
    """Where to listen: a TCP host and port, or the path of a unix socket."""

    host: str
    port: int
    path: str = ""

    @property
    def is_loopback(self) -> bool:
        return bool(self.path) or is_loopback(self.host)

    @property
    def accepts_loopback(self) -> bool:
        """Whether requests may name this address localhost."""
        return self.is_loopback or self.host in ("0.0.0.0", "::")

    @property
    def origin(self) -> str:
        """The URL at which a browser on this machine reaches this address."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class SignUp(NamedTuple):
    """Who may sign up: anyone, no one, or people with an address in some domains."""

    mode: str  # "open", "closed" or "domains"
    domains: frozenset[str] = frozenset()

    def allows_domain(self, email: str) -> bool:
        """Return whether an account may have this e-mail address."""
        return not self.domains or email.rpartition("@")[2].lower() in self.domains


def optional_path(value: str) -> Path | None:
    return Path(value) if value else None


def site_name(value: str) -> str:
    """Parse the name for pages and e-mail headers: one line of visible characters."""
    if len(value) > SITE_NAME_LENGTH or not value.isprintable():
        raise ValueError(
            f"must be one line of at most {SITE_NAME_LENGTH} visible characters."
        )
    return value or SOFTWARE


def sender(value: str) -> str:
    if not value.isprintable() or not re.fullmatch(
        r"[^\s@<>]+@[^\s@<>]+|[^<>]*<[^\s@<>]+@[^\s@<>]+>", value
    ):
        raise ValueError("must be an e-mail address, or a name and <an address>.")
    return value


def on_off(value: str) -> bool:
    if value not in ("on", "off"):
        raise ValueError("must be on or off.")
    return value == "on"


def whole_number(low: int, high: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}.")
        return int(value)

    return parse


def seconds(value: str) -> float:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,3})?", value) or float(value) == 0:
        raise ValueError("must be a number of seconds above 0, such as 15 or 0.5.")
    return float(value)


def bind(value: str) -> Bind:
    if value.startswith("unix:") and len(value) > len("unix:"):
        return Bind("", 0, value.removeprefix("unix:"))
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+)):(\d{1,5})", value)
    if not match or int(match[3]) > 65_535:
        raise ValueError("must look like 127.0.0.1:8000, [::1]:8000 or unix:/path.")
    return Bind(match[1] or match[2], int(match[3]))


def binds(value: str) -> tuple[Bind, ...]:
    return tuple(bind(part.strip()) for part in value.split(","))


def secret_file(path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ValueError(f"the file cannot be read: {reason}.") from None
    if not text.strip():
        # An empty secret is an error: a truncated file must not remove a protection.
        raise ValueError("the file is empty.")
    return text


def url(*schemes: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value and not _is_url(value, schemes):
            raise ValueError(
                "must be empty or a URL without spaces that begins with "
                f"{' or '.join(schemes)}."
            )
        return value.rstrip("/")

    return parse


def _is_url(value: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(value)
        _ = parts.port, host_field(parts.hostname or "")
    except ValueError:
        return False
    # Only the path of a SQLite file may contain white space or control characters,
    # some of which `urlsplit` removes.
    has_gap = any(letter.isspace() or not letter.isprintable() for letter in value)
    if has_gap and not value.startswith(SQLITE):
        return False
    # A database URL needs no host if it names a file or a PostgreSQL unix socket.
    is_local = parts.scheme in ("sqlite", "postgresql") and len(parts.path) > 1
    return f"{parts.scheme}://" in schemes and (bool(parts.hostname) or is_local)


def issuer(value: str) -> str:
    parsed = url("https://", "http://")(value)
    parts = urlsplit(parsed)
    if parts.query or parts.fragment or len(parsed) > ISSUER_LENGTH:
        raise ValueError(
            f"must be a URL of at most {ISSUER_LENGTH} characters without ? and #."
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ValueError("must begin with https://, except on this machine.")
    return parsed


def database_url(value: str) -> str:
    parsed = url("postgresql://", "sqlite://")(value)
    if parsed.startswith("sqlite:") and not parsed.startswith(SQLITE):
        raise ValueError(f"must look like {SQLITE}path, with three slashes.")
    return parsed


def base_url(value: str) -> str:
    parsed = url("http://", "https://")(value)
    if parsed and not parsed.endswith(VERSION_PREFIX):
        raise ValueError(f"must end in {VERSION_PREFIX}.")
    return parsed


def secret_key(value: str) -> str:
    if value and len(value) < MIN_SECRET_KEY_LENGTH:
        raise ValueError(f"must have at least {MIN_SECRET_KEY_LENGTH} characters.")
    return value


def token(value: str) -> str:
    """Parse a secret that is sent in a header: printable ASCII without spaces."""
    if value and not re.fullmatch("[!-~]{16,}", value):
        raise ValueError("must have at least 16 characters: ASCII, without spaces.")
    return value


def key(value: str) -> str:
    reason = keys.why_invalid(value.encode(errors="replace")) if value else None
    if reason:
        raise ValueError(
            f"is not a key: {reason}. `readback key generate` prints a new one."
        )
    return value


def sign_up(value: str) -> SignUp:
    if value in ("open", "closed"):
        return SignUp(value)
    domains = [part.strip().lower() for part in value.split(",")]
    if not all(map(_DOMAIN.fullmatch, domains)):
        raise ValueError(
            "must be open, closed, or domains of e-mail addresses separated by "
            "commas, such as example.org,example.com."
        )
    return SignUp("domains", frozenset(domains))


def contact(value: str) -> str:
    """Parse an e-mail address or a URL; return a URL."""
    if not value or _is_url(value, ("https://",)):
        return value
    if value.startswith("mailto:"):
        value = value.removeprefix("mailto:")
    if not re.fullmatch(r"[^\s@<>]+@[^\s@<>]+", value):
        raise ValueError("must be empty, an e-mail address, or a URL with https://.")
    return f"mailto:{value}"


def unknown(environ: Mapping[str, str], known: set[str]) -> Iterator[str]:
    """Yield a sentence for each variable that looks like a setting but is not one."""
    for name in environ:
        if not name.startswith(VARIABLE_PREFIX) or name in known | _OTHER_VARIABLES:
            continue
        if _KUBERNETES.match(name):
            continue
        similar = get_close_matches(name, known, 1, _LEAST_SIMILARITY)
        hint = f"; did you mean {similar[0]}?" if similar else "; remove it."
        yield f"{name} is not a setting of Readback{hint}"
