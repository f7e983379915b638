"""Misfortunes that were once diagnosed incorrectly; the tests run all of them."""

import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from tests.probe.gateway import (
    Behavior,
    Call,
    Reply,
    answering,
    as_json,
    every,
    first,
    has_key,
    is_chat,
    is_models,
    page,
    pass_on,
    rewriting,
    when,
)
from tests.probe.misfortunes.arranging import OTHER_KEY, kind_of, row
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.provider import completion
from tests.probe.setups import SERVICE, ProbeInput, Resources, proxied

_CYRILLIC = "Доступ запрещён администратором"
_CHINESE = "访问被拒绝"
_MODELS = as_json(200, {"object": "list", "data": [{"id": "m-1", "object": "model"}]})
_NO_KEY = as_json(401, {"error": {"message": "No key", "type": "auth"}})
_REFUSED = as_json(400, {"error": {"message": "messages is required", "type": "x"}})
_FASTAPI = as_json(
    422, {"detail": [{"loc": ["body", "model"], "msg": "Field required"}]}
)
_COMPLETED = answering(200, completion(), Content_Type="application/json")


def _error(status: int, message: str, code: str, kind: str) -> Behavior:
    return as_json(status, {"error": {"message": message, "code": code, "type": kind}})


def _endpoint() -> Behavior:
    return when(has_key, _MODELS, _NO_KEY)


def _without_models(missing: Behavior, refusal: Behavior = _REFUSED) -> Behavior:
    def respond(call: Call) -> Reply:
        if not is_chat(call):
            return missing(call)
        return _COMPLETED(call) if b"m-1" in call.body else refusal(call)

    return respond


def _limited(status: int, allowed: int, then: Behavior) -> Behavior:
    return first(allowed, then, as_json(status, {"error": {"message": "Slow down"}}))


_LIMITS = (
    row(
        "429 to the first requests, and again later",
        first(
            2,
            as_json(429, {"error": {"message": "Slow down"}}),
            _limited(429, 3, _endpoint()),
        ),
        "429|many requests|limit",
        by="nobody",
        key=OTHER_KEY,
    ),
)
_NOT_JSON = tuple(
    row(
        f"an API writes its JSON {how}",
        answering(401, body, Content_Type="application/json"),
        "not JSON",
        by="operator",
        key=OTHER_KEY,
        id="http.spoiled",
    )
    for how, body in (
        ("as JSONP", b'callback({"error": {"message": "No key"}});'),
        ("in a string", rb'"{\"error\": {\"message\": \"No key\"}}"'),
        ("in single quotes", b"{'error': {'message': 'No key'}}"),
    )
)
_KEYS = tuple(
    row(f"{what} for another API", _endpoint(), says, by="you", key=key, blame="key")
    for what, key, says in (
        ("a masked key", "sk-proj-****abcd", "shortened"),
        ("a key with a space", "sk-proj-abc def", "space"),
        ("a Cyrillic key", "sk-proj-ключ", "Cyrillic"),
    )
)
_GATEWAYS = tuple(
    row(
        f"a Readback key, and a gateway {what}",
        behave,
        says,
        by="network operator you nobody",
    )
    for what, behave, says in (
        (
            "in maintenance",
            as_json(503, {"message": "Down for maintenance"}, Retry_After="3600"),
            "again after 3600 s",
        ),
        (
            "that answers 429 at first",
            as_json(429, {"error": {"message": "Too many requests"}}),
            "429|rate|many",
        ),
    )
)
_GATEWAYS += (
    row(
        "a Readback key, and a gateway that answers 405 to GET",
        when(lambda call: call.method == "GET", answering(405, b"", Allow="POST")),
        "405",
        by="network operator",
    ),
    row(
        "a Readback key, and a gateway that rewrites Host",
        rewriting(lambda call: call.with_field("Host", "backend:8000")),
        by="",
    ),
    row(
        "the service is starting",
        first(3, page(503, "Starting")),
        "503",
        "started",
        by="operator",
        id="sometimes.fails",
    ),
    row(
        "a Readback key, and a gateway that answers 429 only at first",
        first(3, as_json(429, {"error": {"message": "Slow down"}}, Retry_After="1")),
        by="",
    ),
)
_GATEWAYS = tuple(
    replace(misfortune, never=("This is a Readback key, but",))
    for misfortune in _GATEWAYS
)
_NO_LIST = tuple(
    row(
        f"an API whose list of models is {what}",
        _without_models(missing, refusal),
        "list of models|stream",
        by="operator nobody",
        key=OTHER_KEY,
        chat=chat,
    )
    for what, missing, refusal, chat in (
        ("404", answering(404, b"no"), _REFUSED, None),
        ("405", answering(405, b"no"), _REFUSED, None),
        ("501", answering(501, b"no"), _REFUSED, None),
        ("a page", page(200, "Chat"), _REFUSED, None),
        ("404, by FastAPI", as_json(404, {"detail": "Not Found"}), _FASTAPI, None),
        ("404, with a completion", answering(404, b"no"), _FASTAPI, "m-1"),
    )
)
_BLOCKS = (
    row(
        "Imperva asks for a browser without a status of its own",
        page(200, "", '<iframe src="/_Incapsula_Resource?SWUDNSAI=31"></iframe>'),
        "browser",
        by="network operator",
    ),
    row(
        "a block page in GBK",
        answering(
            403,
            f"<html><title>{_CHINESE}</title>".encode("gbk"),
            Content_Type="text/html; charset=GBK",
        ),
        _CHINESE,
        by="network operator",
    ),
    *(
        row(
            name,
            page(status, title, "Due to company policy."),
            says,
            by="network operator",
        )
        for name, status, title, says in (
            ("a provider's page", 200, "Доступ ограничен", "Доступ ограничен"),
            ("a German page", 200, "Willkommen im WLAN", "log in to the network"),
            ("a filter answers 503", 503, "Web Page Blocked", "Web Page Blocked"),
            ("Netskope", 200, "Netskope: Access Blocked", "Netskope"),
            ("SonicWall", 200, "SonicWall - Web Site Blocked", "SonicWall"),
        )
    ),
    *(
        row(
            f"a redirect to {where}",
            answering(302, Location=location),
            says,
            by="network operator nobody",
        )
        for where, location, says in (
            ("a block page", "https://block.opendns.com/?url=6162", "filter"),
            ("a block page inside", "http://10.0.0.5:15871/blockpage.cgi", "filter"),
            ("a login", "https://auth.corp.example/?rd=%2Fv1%2Fmodels", "login page"),
        )
    ),
    row(
        "a page that leads to the login of a network",
        answering(
            200,
            b"<meta http-equiv=refresh content='0; url=https://wifi.example/login'>",
            Content_Type="text/html",
        ),
        "log in to the network",
        by="network operator",
    ),
    row(
        "a balancer answers 400 to everything",
        page(400, "400 Bad request", "Your browser sent an invalid request."),
        "400",
        by="network operator",
        timeout=2.0,
    ),
    row(
        "AWS WAF challenges with 202",
        answering(
            202,
            b"<html><script src=x.awswaf.com></script></html>",
            Content_Type="text/html",
            x_amzn_waf_action="challenge",
        ),
        "browser",
        by="network operator",
    ),
    row(
        "a block page in windows-1251",
        answering(
            403,
            f"<html><title>{_CYRILLIC}</title>".encode("cp1251"),
            Content_Type="text/html; charset=windows-1251",
        ),
        _CYRILLIC,
        by="network operator",
    ),
)


class _Rate:
    """Allows a few requests per second, like nginx's limit_req."""

    def __init__(self, allowed: int) -> None:
        self._times: list[float] = []
        self._allowed = allowed

    def __call__(self, call: Call) -> Reply:
        now = time.monotonic()
        self._times = [moment for moment in self._times if now - moment < 1.0]
        if len(self._times) >= self._allowed:
            return page(503, "503 Service Temporarily Unavailable", Server="nginx")(
                call
            )
        self._times.append(now)
        return pass_on(call)


_RATE = (
    row(
        "nginx refuses with 503 what is too fast",
        _Rate(4),
        "rate limit",
        by="nobody",
    ),
)


@contextmanager
def _localhost(resources: Resources, host: str = "localhost"):
    """Send requests for localhost to a proxy, which answers 500."""
    with proxied(page(500, "500", Server="tinyproxy"))(resources) as probe_input:
        url = probe_input.base_url.replace(SERVICE, host)
        yield replace(probe_input, base_url=url)


@contextmanager
def _host_like_key(resources: Resources):
    """Use a key that is a plain word and also the host's name."""
    yield ProbeInput("http://ollama.invalid:11434/v1", "ollama", 2.0)


_SETTINGS = (
    Misfortune(
        "a proxy also gets requests for localhost",
        _localhost,
        ("localhost", "NO_PROXY"),
        "you",
        id="proxies.near",
    ),
    Misfortune(
        "a proxy also gets requests for a host in the local network",
        partial(_localhost, host="192.168.1.50"),
        (r"192\.168\.1\.50", "NO_PROXY"),
        "you",
        id="proxies.near",
    ),
    Misfortune(
        "a key that is also the name of the host",
        _host_like_key,
        ("ollama.invalid",),
        "you network",
    ),
)
_REFUSALS = tuple(
    row(name, behave, *says, by="you", key=OTHER_KEY, chat=chat)
    for name, behave, says, chat in (
        (
            "FastAPI asks for a key with 403, and refuses it",
            when(
                has_key,
                as_json(403, {"detail": "Invalid API key"}),
                as_json(403, {"detail": "Not authenticated"}),
            ),
            ("Invalid API key", "revoked"),
            None,
        ),
        (
            "LiteLLM: the budget of the key is used up",
            when(is_chat, _error(400, "No budget", "400", "budget_exceeded"), _MODELS),
            ("No budget", "balance"),
            "m-1",
        ),
        (
            "LiteLLM: the key has no access to the model",
            when(is_chat, _error(401, "No", "401", "key_model_access_denied"), _MODELS),
            ("lack permissions",),
            "m-1",
        ),
        (
            "Open WebUI, and the address ends in /v1",
            page(200, "Open WebUI"),
            ("Open WebUI: /api",),
            None,
        ),
        (
            "no list of models, and a page asks for the key",
            when(is_chat, page(401, "401 Authorization Required"), page(404, "404")),
            ("401",),
            "m-1",
        ),
    )
)
_FORBIDDEN = (
    row(
        "a restricted key may not list models",
        when(
            is_models,
            when(has_key, as_json(403, {"error": {"message": "No scope"}}), _NO_KEY),
            _COMPLETED,
        ),
        "--chat",
        by="nobody",
        key=OTHER_KEY,
        id="endpoint.no_models",
    ),
)

_LATE = (
    row(
        "Varnish cannot reach the service",
        page(503, "503 Backend fetch failed", Server="Varnish", Via="1.1 varnish"),
        "503",
        by="operator",
    ),
    row(
        "a provider answers a completion with a page of 500",
        when(is_chat, page(500, "500 Internal Server Error"), _MODELS),
        "500",
        by="operator",
        key=OTHER_KEY,
        chat="m-1",
    ),
    row(
        "a gateway answers 504 to completions",
        when(is_chat, page(504, "504 Gateway Time-out")),
        "504",
        "too slow",
        by="operator",
    ),
)

_WALLS = tuple(
    row(
        f"a redirect to {where}",
        answering(302, Location=location),
        says,
        by="network operator nobody",
        never=("Use the final address",),
    )
    for where, location, says in (
        ("isolation", "https://safe.menlo.example/https://echo.example/v1", "menlo"),
        ("a filter of a country", "http://internetpositif.info/", "filter"),
        ("a splash page", "https://n1.network-auth.com/splash/?mac=00", "log in to"),
        ("a firewall's login", "http://fw.corp.example:1000/fgtauth?0a1b", "fgtauth"),
        ("ADFS", "https://adfs.corp.example/adfs/ls/?wa=wsignin1.0", "adfs"),
    )
)
_TITLES = tuple(
    row(f"a page with 200: {title}", page(200, title), title, by="network operator")
    for title in (
        "Access blocked",
        "Zugriff gesperrt",
        "Site bloqué",
        "Acesso bloqueado",
        "Erişim engellendi",
        "访问被阻止",
        "アクセスがブロックされました",
    )
) + (
    row(
        "a page of terms",
        page(200, "Guest Access", "By clicking Accept you agree to the terms of use."),
        "log in to the network",
        by="network operator",
    ),
)
_OWN_LOGINS = tuple(
    row(f"a Readback key, and {who}", as_json(401, body), "401", by="nobody")
    for who, body in (
        ("Kong wants its own", {"message": "Unauthorized"}),
        (
            "Spring wants a token",
            {"error": "unauthorized", "error_description": "Authentication required"},
        ),
    )
)
_FRAMEWORKS = (
    *(
        row(
            f"FastAPI forbids {what}",
            as_json(403, {"detail": "Forbidden"}),
            "Forbidden",
            by="you",
            key=key,
        )
        for what, key in (("a stranger", OTHER_KEY), ("somebody without a key", ""))
    ),
    row(
        "a provider wants another form of a completion",
        when(is_chat, _FASTAPI, _endpoint()),
        "422",
        "Field required",
        by="you",
        key=OTHER_KEY,
        chat="m-1",
    ),
    row(
        "one of two servers is in maintenance",
        every(2, as_json(503, {"error": {"message": "Maintenance"}})),
        r"of \d+ requests",
        by="operator",
    ),
)
_WRONG_PROXIES = (
    Misfortune(
        "an API is set as the proxy",
        proxied(as_json(200, {"status": "ok"}), encrypted=True),
        ("is not a proxy",),
        "you",
    ),
    Misfortune(
        "an HTTP proxy is set as SOCKS",
        proxied(scheme="socks5h", encrypted=True, timeout=1.0),
        ("not speak SOCKS",),
        "you",
    ),
)

REPORTED = kind_of(
    "reported",
    *(
        _LIMITS
        + _NOT_JSON
        + _KEYS
        + _GATEWAYS
        + _NO_LIST
        + _BLOCKS
        + _RATE
        + _SETTINGS
        + _REFUSALS
        + _FORBIDDEN
        + _LATE
        + _WALLS
        + _TITLES
        + _OWN_LOGINS
        + _FRAMEWORKS
        + _WRONG_PROXIES
    ),
)
