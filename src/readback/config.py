"""The settings: one table of name, default and parser, read at startup.

Each field of `Config` is the environment variable READBACK_<FIELD>; docs/settings.md
says what it means. A secret can be given as READBACK_<FIELD>_FILE instead: the path of
a file that contains it. An invalid value, or a READBACK_ variable that does not exist,
raises `ConfigError`, whose message names the variable; the command line prints it and
exits. Nothing here opens a socket, a database or, except for secrets, a file.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from readback import setting_values as values
from readback.contract import VERSION_PREFIX
from readback.setting_values import Bind, ConfigError, SignUp

T = TypeVar("T")

DATABASE_NAME = "readback.sqlite3"
MAX_WORKERS = 512


def _setting(default: str, parse: Callable[[str], T], *, secret: bool = False) -> T:
    """Return a dataclass field whose metadata is one row of the table."""
    metadata = {"default": default, "parse": parse, "secret": secret}
    declared: T = field(default=parse(default), metadata=metadata)
    return declared


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings, parsed, in the order of docs/settings.md."""

    data_dir: Path = _setting("var", Path)
    database_url: str = _setting("", values.database_url, secret=True)
    api_bind: tuple[Bind, ...] = _setting("127.0.0.1:8000", values.binds)
    cabinet_bind: Bind = _setting("127.0.0.1:8001", values.bind)
    ops_bind: Bind = _setting("127.0.0.1:8002", values.bind)
    public_base_url: str = _setting("", values.base_url)
    cabinet_url: str = _setting("", values.url("http://", "https://"))
    smtp_url: str = _setting("", values.url("smtp://", "smtps://"), secret=True)
    mail_from: str = _setting("readback@localhost", values.sender)
    site_name: str = _setting(values.SOFTWARE, values.site_name)
    brand_dir: Path | None = _setting("", values.optional_path)
    secret_key: str = _setting("", values.secret_key, secret=True)
    signup: SignUp = _setting("open", values.sign_up)
    oidc_issuer: str = _setting("", values.issuer)
    oidc_client_id: str = _setting("", str)
    oidc_client_secret: str = _setting("", str, secret=True)
    oidc_name: str = _setting("single sign-on", str)
    oidc_only: bool = _setting("off", values.on_off)
    operator_second_factor: bool = _setting("off", values.on_off)
    security_log: str = _setting("", values.security_log)
    metrics_token: str = _setting("", values.token, secret=True)
    contact: str = _setting("", values.contact)
    workers: int = _setting("0", values.whole_number(0, MAX_WORKERS))
    cabinet_workers: int = _setting("1", values.whole_number(1, 128))
    tls_certificate: Path | None = _setting("", values.optional_path)
    tls_key: Path | None = _setting("", values.optional_path)
    trusted_proxy_count: int = _setting("0", values.whole_number(0, 8))
    key_rate: int = _setting("20", values.whole_number(0, 10_000_000))
    key_burst: int = _setting("1000", values.whole_number(1, 10_000_000))
    error_messages: bool = _setting("off", values.on_off)
    unmatched_requests: bool = _setting("on", values.on_off)
    max_connections: int = _setting("16384", values.whole_number(1, 1_000_000))
    max_connections_per_address: int = _setting(
        "1024", values.whole_number(0, 1_000_000)
    )
    head_timeout: float = _setting("15", values.seconds)
    body_timeout: float = _setting("30", values.seconds)
    idle_timeout: float = _setting("75", values.seconds)
    drain_timeout: float = _setting("30", values.seconds)
    stop_timeout: float = _setting("30", values.seconds)
    stop_notice: float = _setting("5", values.seconds)
    database_grace: float = _setting("900", values.seconds)
    usage_days: int = _setting("400", values.whole_number(1, 36_500))
    journal_days: int = _setting("30", values.whole_number(1, 36_500))
    journal_interval: int = _setting("10", values.whole_number(0, 30))
    ephemeral_key: str = _setting("", values.key, secret=True)

    @property
    def effective_database_url(self) -> str:
        embedded = f"{values.SQLITE}{self.data_dir.absolute() / DATABASE_NAME}"
        return self.database_url or embedded

    @property
    def sqlite_path(self) -> Path | None:
        """The path of the SQLite file; None if the database is PostgreSQL."""
        *_, path = self.effective_database_url.partition(values.SQLITE)
        return Path(path) if path else None

    @property
    def base_url(self) -> str:
        return self.public_base_url or self.api_origin + VERSION_PREFIX

    @property
    def api_origin(self) -> str:
        tcp = next((bind for bind in self.api_bind if not bind.path), None)
        origin = tcp.origin if tcp else "http://localhost"
        return origin.replace("http:", "https:") if self.tls_certificate else origin

    @property
    def worker_count(self) -> int:
        return self.workers or min(_usable_cores(), MAX_WORKERS)

    @property
    def effective_cabinet_url(self) -> str:
        return self.cabinet_url or self.cabinet_bind.origin


def _usable_cores() -> int:
    """Return how many cores taskset or a cpuset lets this process use."""
    # `os.process_cpu_count` needs Python 3.13; macOS has no CPU affinity.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def variable(setting: Field[Any]) -> str:
    """Return the name of the environment variable for a field of `Config`."""
    return values.VARIABLE_PREFIX + setting.name.upper()


def read(environ: Mapping[str, str] = os.environ) -> Config:
    """Return the settings in the environment; raise `ConfigError` if any is invalid."""
    known = [variable(row) for row in fields(Config)]
    secrets = [
        f"{variable(row)}_FILE" for row in fields(Config) if row.metadata["secret"]
    ]
    problems = list(values.unknown(environ, {*known, *secrets}))
    valid = {}
    for row in fields(Config):
        try:
            valid[row.name] = _read_one(row, environ)
        except ConfigError as error:
            problems.append(str(error))
    config = Config(**valid)
    # A setting that seems to be missing may be an invalid one.
    problems = problems or list(_incomplete(config))
    if problems:
        raise ConfigError(*problems)
    return config


def _incomplete(config: Config) -> Iterator[str]:
    if bool(config.tls_certificate) != bool(config.tls_key):
        yield "READBACK_TLS_CERTIFICATE and READBACK_TLS_KEY must be set together."
    provider = (config.oidc_issuer, config.oidc_client_id, config.oidc_client_secret)
    if any(provider) != all(provider):
        yield (
            "READBACK_OIDC_ISSUER, READBACK_OIDC_CLIENT_ID and "
            "READBACK_OIDC_CLIENT_SECRET must be set together."
        )
    if config.oidc_only and not config.oidc_issuer:
        yield "READBACK_OIDC_ONLY needs READBACK_OIDC_ISSUER."


def _read_one(row: Field[Any], environ: Mapping[str, str]) -> Any:
    name = variable(row)
    text = environ.get(name)
    if row.metadata["secret"] and f"{name}_FILE" in environ:
        if text is not None:
            raise ConfigError(
                f"{name} and {name}_FILE are both set; set only one of them."
            )
        try:
            text = values.secret_file(environ[f"{name}_FILE"])
        except ValueError as error:
            raise ConfigError(f"{name}_FILE: {error}") from None
    if text is None:
        return row.default
    try:
        return row.metadata["parse"](text.strip())
    except ValueError as error:
        raise ConfigError(f"{name} {error}") from None
