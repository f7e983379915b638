"""Addresses and keys that were entered incorrectly, and keys that are not accepted."""

import base64
import urllib.parse
from contextlib import contextmanager

from readback import keys
from tests.probe.misfortunes.arranging import kind_of
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import (
    ProbeInput,
    Resources,
    entered_as,
    with_key,
    working,
)


def _address(name, change, *says, by="you", **more):
    return Misfortune(name, entered_as(change), says, by, **more)


_NEW = "https://new.example/v1"
_USED = r"127\.0\.0\.1:\d+/v1"
_SAFE = "https://eur01.safelinks.protection.outlook.com/?url="
_OTHER = "sk-proj-0123456789abcdef0123456789"
_ADDRESSES = (
    _address(
        "an Outlook Safelink",
        lambda url: _SAFE + urllib.parse.quote(url, safe="") + "&data=05",
        _USED,
        id="address.corrected",
    ),
    _address(
        "the host has a letter of another alphabet",
        # The first o is Cyrillic.
        lambda url: url.replace("127.0.0.1", "lоcalhost"),
        "Cyrillic",
        id="address.letters",
    ),
    _address(
        "the address contains a key",
        lambda url: f"{url}?key={_OTHER}",
        "key",
        blame="key",
        id="address.contains_key",
    ),
    _address(
        "the address is that of a server that listens everywhere",
        lambda url: url.replace("127.0.0.1", "0.0.0.0"),
        _USED,
        id="address.listen",
    ),
    _address(
        "a key is given as the address",
        lambda url: f"OPENAI_API_KEY={_OTHER}",
        "key",
        blame="key",
        id="address.contains_key",
    ),
    *(
        _address(
            f"the placeholder of {of} was not replaced",
            lambda url, form=form: form,
            "placeholder",
            id="address.unreadable",
        )
        for of, form in (
            ("Azure", "https://YOUR-RESOURCE-NAME.openai.azure.com/openai/v1/"),
            ("Cloudflare", "https://api.cloudflare.com/accounts/ACCOUNT_ID/ai/v1"),
            ("a template", "https://{{host}}/v1"),
        )
    ),
    _address(
        "the address of a key's page in the cabinet",
        lambda url: url.replace("/v1", "/keys/12/"),
        "/v1|path|cabinet",
    ),
    _address("the address has a non-breaking space", lambda url: f"{url}\u00a0", _USED),
    _address(
        "the address begins with hxxp", lambda url: url.replace("http", "hxxp"), _USED
    ),
    _address("two addresses", lambda url: f"{url};{_NEW}", "several"),
    _address("the address is defanged", lambda url: url.replace(".", "[.]"), _USED),
    _address(
        "the address has a comma for a dot",
        lambda url: url.replace("127.0.0.1", "127,0,0,1"),
        "host|comma|dot|name|,",
        id="address.unreadable",
    ),
    _address(
        "the address has five numbers",
        lambda url: url.replace("127.0.0.1", "127.0.0.0.1"),
        "host|name|exist|IP",
    ),
    _address(
        "the address has leading zeros",
        lambda url: url.replace("127.0.0.1", "127.000.000.001"),
        "host|zero|IP|name",
        by="you network",
    ),
    _address(
        "the port is missing after its colon",
        lambda url: "http://127.0.0.1:/v1",
        by="you operator",
    ),
    _address("the port is a word", lambda url: "http://127.0.0.1:http/v1", "port"),
    _address("the address is a number", lambda url: "8000", "address"),
    _address(
        "the address is an example from the documentation",
        lambda url: "https://<host>/v1",
        "placeholder|bracket|host",
        "Replace",
        id="address.unreadable",
    ),
    _address("the path is /v 1", lambda url: url.replace("/v1", "/v 1"), _USED),
    _address("the path is /v1beta", lambda url: url.replace("/v1", "/v1beta"), _USED),
    _address("the path is /api", lambda url: url.replace("/v1", "/api"), _USED),
)


def _at(port):
    """Enter the address with another of the service's ports."""
    return working(
        lambda resources: ProbeInput(
            f"{port(resources.readback).rstrip('/')}/v1", resources.readback.api_key
        )
    )


_PORTS = (
    Misfortune(
        "the port is that of the metrics",
        _at(lambda readback: readback.ops_url),
        ("port|address|path",),
        "you operator",
        id="http.no_such_path",
    ),
    Misfortune(
        "the port is that of the cabinet",
        _at(lambda readback: readback.cabinet_url),
        ("cabinet",),
        "you",
        id="http.cabinet",
    ),
    Misfortune(
        "the address is that of the cabinet's first page",
        working(
            lambda resources: ProbeInput(
                resources.readback.cabinet_url, resources.readback.api_key
            )
        ),
        ("cabinet",),
        "you",
        id="http.cabinet",
    ),
)


def _key(name, change, *says, by="you", **more):
    return Misfortune(name, with_key(change), says, by, blame="key", **more)


def _flawed(statement):
    """Create a key that `statement` then makes unusable in the database."""

    @contextmanager
    def arrange(resources: Resources):
        readback = resources.readback
        key = readback.new_key()
        statement(readback.database, key)
        yield ProbeInput(readback.base_url, key)

    return arrange


def _ended(column):
    def change(database, key):
        database.rows(
            f"UPDATE cabinet_key SET {column} = ? WHERE digest = ?",
            database.moment(-60),
            keys.digest(key.encode()),
        )

    return change


def _moved(database, key, statement):
    account = database.add_account(f"{key[-8:].lower()}@example.org")
    database.rows(
        "UPDATE cabinet_key SET owner_id = ? WHERE digest = ?",
        account,
        keys.digest(key.encode()),
    )
    database.rows(statement, False, account)


def _paused(database, key):
    _moved(database, key, "UPDATE cabinet_user SET is_active = ? WHERE id = ?")


def _unconfirmed(database, key):
    _moved(
        database, key, "UPDATE account_emailaddress SET verified = ? WHERE user_id = ?"
    )


_OTHERS = {
    "OpenAI": "sk-proj-" + "aB3dE5gH7j" * 5,
    "Anthropic": "sk-ant-api03-" + "aB3dE5gH7j" * 8,
    "Google": "AIza" + "SyD3fG5hJ7" * 3 + "kL9mN",
    "Groq": "gsk_" + "aB3dE5gH7j" * 5,
    "GitHub": "ghp_" + "aB3dE5gH7j" * 3 + "k12345",
    "Hugging Face": "hf_" + "aB3dE5gH7j" * 3,
    "Azure": "0123456789abcdef0123456789abcdef",
    "OpenRouter": "sk-or-v1-" + "0123456789abcdef" * 4,
    "a JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLXg",
}
_KEYS = (
    *(
        _key(
            f"a key of another service: {name}",
            lambda _, key=key: key,
            "not a Readback key|another service",
            "a key of this service",
            id="key.other_service",
        )
        for name, key in _OTHERS.items()
    ),
    _key("no key", lambda _: "", "no key|none", id="key.none"),
    _key("the word None", lambda _: "None", "key"),
    _key("YOUR_API_KEY", lambda _: "YOUR_API_KEY", "variable|placeholder|key"),
    _key(
        "a template in braces",
        lambda _: "{{ api_key }}",
        "variable|placeholder|template",
        id="key.invalid",
    ),
    _key(
        "a non-breaking space after it",
        lambda key: f"{key}\u00a0",
        "space|invisible",
        id="key.corrected",
    ),
    _key(
        "the shortened form of the key",
        lambda key: f"sk-echo-…{key[-4:]}",
        "shortened",
        id="key.invalid",
    ),
    _key("a typo", lambda key: f"{key[:-1]}-", "key", id="key.invalid"),
    _key(
        "a zero-width space inside",
        lambda key: f"{key[:12]}\u200b{key[12:]}",
        "invisible",
    ),
    _key("a space inside", lambda key: f"{key[:20]} {key[20:]}", "space|line"),
    _key("a comment after it", lambda key: f"{key} # test key", "text"),
    _key("underscores for hyphens", lambda key: key.replace("-", "_"), "key"),
    _key(
        "a Cyrillic о in the prefix",
        lambda key: key.replace("echo", "echо"),
        "script|look",
    ),
    _key(
        "Basic before it",
        lambda key: "Basic " + base64.b64encode(f"x:{key}".encode()).decode(),
        "key",
    ),
    _key("x-api-key before it", lambda key: f"x-api-key: {key}", "header|setting|name"),
    _key("the address as the key", lambda _: "https://echo.example/v1", "key|address"),
    _key("a well-formed key that nobody has", lambda _: keys.mint(), "not accepted"),
    *(
        Misfortune(
            name,
            _flawed(change),
            ("not accepted",),
            "you operator",
            blame="key",
            id="key.refused",
        )
        for name, change in (
            ("an expired key", _ended("expires_at")),
            ("a revoked key", _ended("revoked_at")),
            ("the key of a paused account", _paused),
            ("the key of an unconfirmed account", _unconfirmed),
        )
    ),
)

ENTERED = kind_of("addresses", *_ADDRESSES, *_PORTS) + kind_of("keys", *_KEYS)
