"""The settings: one table of name, default, parser and description, read at start.

Each field of `Config` is the environment variable READBACK_<FIELD>. A secret can be
given as READBACK_<FIELD>_FILE instead: the path of a file that contains it. An invalid
value, or a READBACK_ variable that does not exist, raises `ConfigError`, whose text
names the variable; the command line prints it and exits. Nothing here opens a socket,
a database or, except for secrets, a file.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from readback import setting_values as values
from readback.contract import JOURNAL_ROWS, VERSION_PREFIX
from readback.setting_values import Bind, ConfigError, SignUp

T = TypeVar("T")

DATABASE_NAME = "readback.sqlite3"


def _setting(
    default: str, parse: Callable[[str], T], description: str, *, secret: bool = False
) -> T:
    """Return a dataclass field that carries one row of the table as its metadata."""
    metadata = {
        "default": default,
        "parse": parse,
        "description": description,
        "secret": secret,
    }
    declared: T = field(default=parse(default), metadata=metadata)
    return declared


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings, parsed. The order here is the order in the documentation."""

    data_dir: Path = _setting(
        "var", Path, "Directory of the embedded database and the generated secret key."
    )
    database_url: str = _setting(
        "",
        values.database_url,
        "Database of both planes: postgresql://user:password@host:port/name or "
        f"sqlite:///path. Empty: {DATABASE_NAME} in READBACK_DATA_DIR.",
        secret=True,
    )
    api_bind: tuple[Bind, ...] = _setting(
        "127.0.0.1:8000",
        values.binds,
        "Address that the API listens on: host:port, [IPv6]:port or unix:/path. "
        "Separate several addresses with commas.",
    )
    cabinet_bind: Bind = _setting(
        "127.0.0.1:8001", values.bind, "Address that the cabinet listens on."
    )
    ops_bind: Bind = _setting(
        "127.0.0.1:8002",
        values.bind,
        "Address that serves health, readiness and metrics; keep it private.",
    )
    public_base_url: str = _setting(
        "",
        values.base_url,
        "URL of the API that clients use, ending in /v1; the cabinet shows it. "
        "Empty: derived from READBACK_API_BIND.",
    )
    cabinet_url: str = _setting(
        "",
        values.url("http://", "https://"),
        "URL of the cabinet that browsers use; links and e-mails contain it. "
        "Empty: derived from READBACK_CABINET_BIND.",
    )
    smtp_url: str = _setting(
        "",
        values.url("smtp://", "smtps://"),
        "Mail server: smtp://user:password@host:587 (uses STARTTLS if there is a user) "
        "or smtps://…. Empty: e-mails are printed to the terminal.",
        secret=True,
    )
    mail_from: str = _setting(
        "readback@localhost",
        values.sender,
        "Sender of e-mails: an address, or `Name <address>`.",
    )
    site_name: str = _setting(
        values.SOFTWARE, values.site_name, "Name of your service, as people see it."
    )
    home_url: str = _setting(
        "",
        values.url("http://", "https://"),
        "Your main website, to which the header of every page of the cabinet links.",
    )
    brand_dir: Path | None = _setting(
        "", values.optional_path, "Folder with your logo, colour, texts and pages."
    )
    secret_key: str = _setting(
        "",
        values.secret_key,
        "Secret that signs sessions and links: at least "
        f"{values.MIN_SECRET_KEY_LENGTH} characters, the same on "
        "every replica. Empty: generated once and stored in READBACK_DATA_DIR.",
        secret=True,
    )
    signup: SignUp = _setting(
        "open",
        values.sign_up,
        "Who may create an account: open (anybody), closed (nobody), invitation "
        "(whomever an operator invites), or domains of e-mail addresses, separated "
        "with commas. Operators can always create and invite, but only with these "
        "domains.",
    )
    oidc_issuer: str = _setting(
        "",
        values.issuer,
        "Issuer of an OpenID Connect provider with which people can log in, as in the "
        "provider's own configuration. Empty: no single sign-on.",
    )
    oidc_client_id: str = _setting(
        "", str, "Client id that the provider gave to this cabinet."
    )
    oidc_client_secret: str = _setting(
        "", str, "Client secret that belongs to READBACK_OIDC_CLIENT_ID.", secret=True
    )
    oidc_name: str = _setting(
        "single sign-on", str, "Name of the provider on the button of the login page."
    )
    oidc_only: bool = _setting(
        "off",
        values.on_off,
        "on: people can log in with the provider and in no other way. off: also with a "
        "password or a passkey.",
    )
    oidc_leave_days: int = _setting(
        "0",
        values.whole_number(0, 3650),
        "Days after which an account is deactivated whose owner has logged in with the "
        "provider before, but not since; they are told a week before. At least 14. "
        "0: never.",
    )
    operator_second_factor: bool = _setting(
        "off",
        values.on_off,
        "on: operators need a second factor to open the pages for operators.",
    )
    security_log: str = _setting(
        "",
        values.security_log,
        "Where the security log goes, that of commands included: the absolute path of "
        "a file, syslog: (the daemon of this machine) or syslog://host:port (UDP). "
        "Empty: standard error of the server, and nowhere for commands.",
    )
    metrics_token: str = _setting(
        "",
        values.token,
        "Secret with which Prometheus reads /metrics of the cabinet, as a bearer "
        "token: at least 16 characters. Empty: the cabinet shows no metrics.",
        secret=True,
    )
    contact: str = _setting(
        "",
        values.contact,
        "E-mail address or https:// URL at which people reach you about security and "
        "their data; the privacy page and /.well-known/security.txt show it.",
    )
    workers: int = _setting(
        "0", values.whole_number(0, 512), "API worker processes. 0: one per CPU core."
    )
    cabinet_workers: int = _setting(
        "1",
        values.whole_number(1, 128),
        "Cabinet worker processes, each with eight threads for pages and two for "
        "passwords.",
    )
    tls_certificate: Path | None = _setting(
        "",
        values.optional_path,
        "Certificate chain (PEM file) for HTTPS on READBACK_API_BIND.",
    )
    tls_key: Path | None = _setting(
        "", values.optional_path, "Private key (PEM file) of READBACK_TLS_CERTIFICATE."
    )
    trusted_proxy_count: int = _setting(
        "0",
        values.whole_number(0, 8),
        "Number of your proxies in front of Readback, each of which appends to "
        "X-Forwarded-For. 0: the header is ignored.",
    )
    key_rate: int = _setting(
        "20",
        values.whole_number(1, 10_000_000),
        "Requests per second that one key may make.",
    )
    key_burst: int = _setting(
        "1000",
        values.whole_number(1, 10_000_000),
        "Requests that one key may make in a burst.",
    )
    auth_failure_rate: int = _setting(
        "30",
        values.whole_number(1, 10_000_000),
        "Requests per second without an accepted key, per client address.",
    )
    auth_failure_burst: int = _setting(
        "300",
        values.whole_number(1, 10_000_000),
        "Requests without an accepted key in a burst, per client address.",
    )
    error_messages: bool = _setting(
        "off",
        values.on_off,
        "on: every refusal has error.message in its body. off: refusals have exactly "
        "the body that the contract specifies.",
    )
    unmatched_requests: bool = _setting(
        "on",
        values.on_off,
        "on: people who wait for a first request see requests without an accepted key "
        "from their own network address, for ten minutes. off: these are not kept.",
    )
    max_connections: int = _setting(
        "16384",
        values.whole_number(1, 1_000_000),
        "Maximum open connections per API worker.",
    )
    max_connections_per_address: int = _setting(
        "1024",
        values.whole_number(0, 1_000_000),
        "Maximum open connections per client address and API worker. 0: no limit. "
        "Does not apply behind trusted proxies or on unix sockets.",
    )
    head_timeout: float = _setting(
        "15",
        values.seconds,
        "Seconds from the first byte to the end of a request's headers.",
    )
    body_timeout: float = _setting(
        "30",
        values.seconds,
        "Seconds from the end of the headers to the end of the body.",
    )
    idle_timeout: float = _setting(
        "75",
        values.seconds,
        "Seconds that a keep-alive connection may be idle; set it higher than your "
        "proxy's.",
    )
    drain_timeout: float = _setting(
        "30", values.seconds, "Seconds that a client may take to read its responses."
    )
    stop_timeout: float = _setting(
        "30",
        values.seconds,
        "Seconds that running requests get to finish when the service stops.",
    )
    stop_notice: float = _setting(
        "5",
        values.seconds,
        "Seconds that clients and balancers get to notice a stop: an idle connection "
        "may send one more request, and if /readyz is being checked, it answers 503 "
        "before the API stops accepting connections. At most half of "
        "READBACK_STOP_TIMEOUT.",
    )
    database_grace: float = _setting(
        "900",
        values.seconds,
        "Seconds that known keys keep working while the database is unavailable.",
    )
    usage_days: int = _setting(
        "400", values.whole_number(1, 36_500), "Days that request counts are kept."
    )
    journal_days: int = _setting(
        "30",
        values.whole_number(1, 36_500),
        f"Days that a key's journal is kept; it holds at most the last {JOURNAL_ROWS} "
        f"accepted and the last {JOURNAL_ROWS} refused requests.",
    )
    journal_interval: int = _setting(
        "10",
        values.whole_number(0, 30),
        "Longest time in seconds between two writes of the usage and journal of a key "
        "in constant use; a killed worker loses what it has counted since the last "
        "one. 0: half a second, which is how soon a new outcome is written in any "
        "case.",
    )
    ephemeral_key: str = _setting(
        "",
        values.key,
        "Key that `readback serve --ephemeral` creates; every other server refuses to "
        "start with it. `readback key generate` prints one. Empty: a random key.",
        secret=True,
    )

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
        return self.workers or os.cpu_count() or 1

    @property
    def effective_cabinet_url(self) -> str:
        return self.cabinet_url or self.cabinet_bind.origin


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
    # What is missing may be one of the problems.
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
    if config.oidc_leave_days and not config.oidc_issuer:
        yield "READBACK_OIDC_LEAVE_DAYS needs READBACK_OIDC_ISSUER."
    if 0 < config.oidc_leave_days < 14:
        yield "READBACK_OIDC_LEAVE_DAYS must be 0 or at least 14."


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
