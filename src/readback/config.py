"""The settings: one table of name, default, parser and sentence, read once at start.

Each field of `Config` is the environment variable READBACK_<FIELD>; a secret may be
given as READBACK_<FIELD>_FILE instead, the path of a file that holds it. A value that
cannot be understood, or a READBACK_ variable that does not exist, raises
`ConfigError`, whose text names the variable; whoever starts the program prints it
and exits. Nothing here opens a socket, a database or (but for secrets) a file.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from readback.contract import VERSION_PREFIX

T = TypeVar("T")

NAMESPACE = "READBACK_"
# What stands after it is the path as it is: sqlite:///var/x or sqlite:////srv/x.
_SQLITE = "sqlite:///"
# Read by the probe, which is a client: not settings of the service.
_CLIENT_VARIABLES = frozenset({"READBACK_API_KEY", "READBACK_TEST_CHROMIUM"})
# What Kubernetes puts into every pod beside a Service called "readback".
_KUBERNETES = re.compile(r"READBACK_(\w+_)?(SERVICE_(HOST|PORT)|PORT(_|$))")


class ConfigError(Exception):
    """A setting is wrong; the text names it and says what is wrong."""


class Bind(NamedTuple):
    """Where to listen: a TCP host and port, or the path of a unix socket."""

    host: str
    port: int
    path: str = ""

    @property
    def is_loopback(self) -> bool:
        local = self.host.startswith("127.") or self.host in ("::1", "localhost")
        return bool(self.path) or local

    @property
    def origin(self) -> str:
        """The address under which a browser on this machine reaches it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


# Parsers: text to value, or ValueError with the end of a sentence.


def _text(value: str) -> str:
    return value


def _path(value: str) -> Path:
    return Path(value)


def _optional_path(value: str) -> Path | None:
    return Path(value) if value else None


def _switch(value: str) -> bool:
    if value not in ("on", "off"):
        raise ValueError("must be on or off")
    return value == "on"


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(value)

    return parse


def _seconds(value: str) -> float:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,3})?", value) or float(value) == 0:
        raise ValueError("must be a number of seconds above 0, such as 15 or 0.5")
    return float(value)


def _bind(value: str) -> Bind:
    if value.startswith("unix:") and len(value) > len("unix:"):
        return Bind("", 0, value.removeprefix("unix:"))
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+)):(\d{1,5})", value)
    if not match or int(match[3]) > 65_535:
        raise ValueError("must look like 127.0.0.1:8000, [::1]:8000 or unix:/path")
    return Bind(match[1] or match[2], int(match[3]))


def _binds(value: str) -> tuple[Bind, ...]:
    return tuple(_bind(part.strip()) for part in value.split(","))


def _url(*schemes: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value and not _is_url(value, schemes):
            raise ValueError(f"must be empty or begin with {' or '.join(schemes)}")
        return value.rstrip("/")

    return parse


def _is_url(value: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        return False
    # A database may have no host: a file, or PostgreSQL behind a unix socket.
    local = parts.scheme in ("sqlite", "postgresql") and len(parts.path) > 1
    return f"{parts.scheme}://" in schemes and (bool(parts.hostname) or local)


def _database_url(value: str) -> str:
    url = _url("postgresql://", "sqlite://")(value)
    if url.startswith("sqlite:") and not url.startswith(_SQLITE):
        raise ValueError(f"must look like {_SQLITE}path, with three slashes")
    return url


def _base_url(value: str) -> str:
    url = _url("http://", "https://")(value)
    if url and not url.endswith(VERSION_PREFIX):
        raise ValueError(f"must end in {VERSION_PREFIX}")
    return url


def _secret_key(value: str) -> str:
    if value and len(value) < 50:
        raise ValueError("must have at least 50 characters")
    return value


def _setting(
    default: str, parse: Callable[[str], T], sentence: str, *, secret: bool = False
) -> T:
    """Declare one row of the table; a dataclass field in disguise."""
    facts = {"text": default, "parse": parse, "sentence": sentence, "secret": secret}
    declared: T = field(default=parse(default), metadata=facts)
    return declared


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings, parsed. The order here is the order in the documentation."""

    data_dir: Path = _setting(
        "var", _path, "Directory of the embedded database and of generated secrets."
    )
    database_url: str = _setting(
        "",
        _database_url,
        "Database of both planes: postgresql://user:password@host:port/name, or "
        "sqlite:///path; empty means readback.sqlite3 in READBACK_DATA_DIR.",
        secret=True,
    )
    api_bind: tuple[Bind, ...] = _setting(
        "127.0.0.1:8000",
        _binds,
        "Where the API listens: host:port, [v6]:port or unix:/path, "
        "several separated by commas.",
    )
    cabinet_bind: Bind = _setting("127.0.0.1:8001", _bind, "Where the cabinet listens.")
    ops_bind: Bind = _setting(
        "127.0.0.1:8002",
        _bind,
        "Where health, readiness and metrics are served; keep it private.",
    )
    public_base_url: str = _setting(
        "",
        _base_url,
        "Address of the API as clients reach it, ending in /v1; shown in the "
        "cabinet. Empty means the address of READBACK_API_BIND.",
    )
    cabinet_url: str = _setting(
        "",
        _url("http://", "https://"),
        "Address of the cabinet as browsers reach it; in links and mails. Empty "
        "means the address of READBACK_CABINET_BIND.",
    )
    smtp_url: str = _setting(
        "",
        _url("smtp://", "smtps://"),
        "Mail server: smtp://user:password@host:587 (STARTTLS when a user is given) "
        "or smtps://…; empty means that mails are printed to the terminal.",
        secret=True,
    )
    mail_from: str = _setting(
        "Readback <readback@localhost>", _text, "Sender of the cabinet's mails."
    )
    secret_key: str = _setting(
        "",
        _secret_key,
        "Signs sessions and links, at least 50 characters; the same on every "
        "replica. Empty means one is generated in READBACK_DATA_DIR.",
        secret=True,
    )
    workers: int = _setting(
        "0", _whole(0, 512), "API worker processes; 0 means one per core."
    )
    cabinet_workers: int = _setting(
        "1", _whole(1, 128), "Cabinet worker processes, each with eight threads."
    )
    tls_certificate: Path | None = _setting(
        "", _optional_path, "Certificate chain (PEM) for HTTPS on READBACK_API_BIND."
    )
    tls_key: Path | None = _setting(
        "", _optional_path, "Private key (PEM) of READBACK_TLS_CERTIFICATE."
    )
    trusted_proxy_count: int = _setting(
        "0",
        _whole(0, 8),
        "Proxies of yours in front, each of which appends to X-Forwarded-For; "
        "0 means that header is ignored.",
    )
    key_rate: int = _setting(
        "20", _whole(1, 10_000_000), "Requests a second that one key may make."
    )
    key_burst: int = _setting(
        "1000", _whole(1, 10_000_000), "Requests that one key may make at once."
    )
    auth_failure_rate: int = _setting(
        "30",
        _whole(1, 10_000_000),
        "Requests a second with a key that is not accepted, per client address.",
    )
    auth_failure_burst: int = _setting(
        "300", _whole(1, 10_000_000), "The same, at once."
    )
    error_messages: bool = _setting(
        "off",
        _switch,
        "Adds error.message to the body of a refusal; off keeps the exact form of "
        "the contract.",
    )
    max_connections: int = _setting(
        "16384", _whole(1, 1_000_000), "Open connections per API worker."
    )
    max_connections_per_address: int = _setting(
        "1024",
        _whole(0, 1_000_000),
        "Open connections per client address and API worker; 0 means no limit, and "
        "it does not apply behind trusted proxies or on unix sockets.",
    )
    head_timeout: float = _setting(
        "15", _seconds, "Seconds from the first byte to the end of a request's head."
    )
    body_timeout: float = _setting(
        "30", _seconds, "Seconds from the end of the head to the end of the body."
    )
    idle_timeout: float = _setting(
        "75",
        _seconds,
        "Seconds a kept-alive connection may be idle; longer than your proxy's.",
    )
    drain_timeout: float = _setting(
        "30", _seconds, "Seconds a client may take to read its answers."
    )
    stop_timeout: float = _setting(
        "30", _seconds, "Seconds that begun requests get when the service stops."
    )
    database_grace: float = _setting(
        "900",
        _seconds,
        "Seconds for which known keys go on working while the database is away.",
    )
    usage_days: int = _setting(
        "400", _whole(1, 36_500), "Days for which the counts of requests are kept."
    )
    journal_days: int = _setting(
        "30",
        _whole(1, 36_500),
        "Days for which the journal of a key is kept; at most its last 100 accepted "
        "and 100 refused requests are.",
    )

    @property
    def effective_database_url(self) -> str:
        embedded = f"{_SQLITE}{self.data_dir.absolute() / 'readback.sqlite3'}"
        return self.database_url or embedded

    @property
    def sqlite_path(self) -> Path | None:
        """The file of the database; None when it is PostgreSQL."""
        url = self.effective_database_url
        return Path(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else None

    @property
    def base_url(self) -> str:
        return self.public_base_url or self.api_origin + VERSION_PREFIX

    @property
    def api_origin(self) -> str:
        tcp = next((bind for bind in self.api_bind if not bind.path), None)
        origin = tcp.origin if tcp else "http://localhost"
        return origin.replace("http:", "https:") if self.tls_certificate else origin

    @property
    def effective_cabinet_url(self) -> str:
        return self.cabinet_url or self.cabinet_bind.origin


def variable(setting: Field[Any]) -> str:
    """Give the environment variable of a field of `Config`."""
    return NAMESPACE + setting.name.upper()


def read(environ: Mapping[str, str] = os.environ) -> Config:
    """Read all settings from the environment, or raise `ConfigError`."""
    _refuse_unknown(environ)
    values = {row.name: _read_one(row, environ) for row in fields(Config)}
    config = Config(**values)
    if bool(config.tls_certificate) != bool(config.tls_key):
        raise ConfigError(
            "READBACK_TLS_CERTIFICATE and READBACK_TLS_KEY must be set together"
        )
    return config


def _read_one(row: Field[Any], environ: Mapping[str, str]) -> Any:
    name = variable(row)
    text = environ.get(name)
    if row.metadata["secret"] and f"{name}_FILE" in environ:
        if text is not None:
            raise ConfigError(f"{name} and {name}_FILE are both set: choose one")
        text = _read_secret(f"{name}_FILE", environ[f"{name}_FILE"])
    if text is None:
        return row.default
    try:
        return row.metadata["parse"](text.strip())
    except ValueError as error:
        raise ConfigError(f"{name} {error}") from None


def _read_secret(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"{name}: the file cannot be read: {reason}") from None


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    rows = fields(Config)
    known = {variable(row) for row in rows}
    known |= {f"{variable(row)}_FILE" for row in rows if row.metadata["secret"]}
    for name in environ:
        if not name.startswith(NAMESPACE) or name in known | _CLIENT_VARIABLES:
            continue
        if _KUBERNETES.match(name):
            continue
        near = get_close_matches(name, known, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError(f"{name} is not a setting of Readback{meant}")
