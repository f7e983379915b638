"""Problems that people have reported in public issue trackers and forums."""

import re
from contextlib import contextmanager
from dataclasses import replace
from gzip import compress

from tests.probe.gateway import (
    Behavior,
    Call,
    Reply,
    answering,
    as_json,
    editing,
    hanging,
    has_key,
    is_chat,
    page,
    when,
)
from tests.probe.misfortunes.arranging import (
    OTHER_KEY,
    in_own_network,
    kind_of,
    row,
)
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import (
    SERVICE,
    Arrange,
    Resources,
    issued_by,
    other_in,
    over_tls,
    proxied,
    serving,
)


def _json(code: int, /, **content: object) -> Behavior:
    return as_json(code, content)


def _error(status: int, message: str, /, **more: object) -> Behavior:
    return as_json(status, {"error": {"message": message, **more}})


_MODELS = _json(200, object="list", data=[{"id": "m-1", "object": "model"}])
_NO_KEY = _error(401, "No key", type="auth")
_TEXT = {"Content_Type": "text/plain"}
_CLOUDFLARE = {"Server": "cloudflare", "CF_RAY": "8f2c-AMS", **_TEXT}


def _row(name: str, behave: Behavior, *says: str, by: str, **more) -> Misfortune:
    return row(name, behave, *says, by=by, **{"key": OTHER_KEY, **more})


def _chat(name: str, behave: Behavior, *says: str, by: str, **more) -> Misfortune:
    """Serve a list of models, but give this answer to requests for a completion."""
    wall = when(is_chat, behave, _endpoint)
    return _row(name, wall, *says, by=by, chat="m-1", **more)


def _refused(name: str, status: int, message: str, /, by: str, finding="", **more):
    """Refuse completions with an error; the report must show its message."""
    reply = _error(status, message, **more)
    return _chat(name, reply, re.escape(message), by=by, id=finding, blame="key")


def _endpoint(call: Call) -> Reply:
    return (_MODELS if has_key(call) else _NO_KEY)(call)


def _only_at(prefix: str, elsewhere: Behavior) -> Behavior:
    match = f"{prefix}/"
    return when(lambda call: call.target.startswith(match), _endpoint, elsewhere)


def _lm_studio(call: Call):
    if call.target == "/v1/models":
        return _MODELS(call)
    reason = f"Unexpected endpoint or method. ({call.method} {call.target})"
    return _json(200, error=reason)(call)


_PATHS = (
    _row(
        "LM Studio without /v1 answers 200 to everything",
        _lm_studio,
        "/v1",
        path="",
        by="you",
    ),
    _row(
        "OpenRouter without /api",
        _only_at("/api/v1", page(404, "404: This page could not be found.")),
        "/api/v1",
        by="you",
    ),
    _row(
        "Groq without /openai",
        _only_at(
            "/openai/v1",
            _error(
                404,
                "Unknown request URL: GET /v1/models.",
                type="invalid_request_error",
            ),
        ),
        "/openai/v1|Unknown request URL",
        by="you",
    ),
    _row(
        "Zhipu's /v4 with a /v1 behind it",
        when(
            lambda call: call.target.startswith("/api/paas/v4/m"),
            _endpoint,
            _json(404, status=404, path="/v4/v1"),
        ),
        "Use .*/api/paas/v4;",
        path="/api/paas/v4/v1",
        by="you",
    ),
    _row(
        "Cloudflare's AI gateway without the name of a provider",
        _json(
            400, success=False, error=[{"code": 2008, "message": "Invalid provider"}]
        ),
        "400",
        "Invalid provider",
        by="you",
    ),
)
_KEYS = (
    _row(
        "an env file for Docker keeps the quotation marks",
        when(lambda call: '"' in call["Authorization"], _NO_KEY, _endpoint),
        "quotation mark",
        by="you",
        key=f'"{OTHER_KEY}"',
        blame="key",
    ),
    _row(
        "JavaScript's undefined is the key",
        when(has_key, _error(401, "Incorrect API key provided: undefined"), _NO_KEY),
        "placeholder",
        by="you",
        key="undefined",
        blame="key",
    ),
)
_MODELS_OF_OTHERS = (
    _refused("one-api has no channel", 503, "模型 m-1 无可用渠道", "operator you"),
    _refused(
        "new-api has no channel for the model",
        503,
        "No available channel",
        "you",
        finding="chat.no_model",
        code="model_not_found",
    ),
    _refused(
        "OpenAI wants a verified organization",
        403,
        "Your organization must be verified",
        "you operator",
        finding="endpoint.refused",
        code="model_not_found",
    ),
    _refused("the key may list models only", 401, "Missing scopes: model", "you"),
    _refused(
        "LiteLLM has a wrong key of its own",
        401,
        "litellm.AuthenticationError: Incorrect API key",
        "operator",
        finding="endpoint.refused",
    ),
    _refused("LiteLLM gives up with 408", 408, "litellm.Timeout: late", "operator"),
    _refused(
        "one-api: the account has no money",
        403,
        "用户额度不足",
        "you",
        finding="endpoint.quota",
        code="insufficient_user_quota",
    ),
    _refused("Ollama has too little memory", 500, "needs more memory", "operator you"),
    _refused("OpenRouter: no endpoint fits", 404, "No data policy matches", "you"),
    _chat(
        "Azure: the tokens of this minute are used up",
        answering(
            429,
            b'{"error":{"code":"429","message":"Requests have exceeded token rate '
            b'limit. Please retry after 55 seconds."}}',
            Content_Type="application/json",
            Retry_After="55",
        ),
        "429|rate|limit",
        "55",
        by="you operator",
    ),
)
_WALLS = (
    _row(
        "Cloudflare 1010 in JSON, for every program",
        answering(
            403,
            b'{"title":"Error 1010: Access denied","status":403,'
            b'"detail":"blocked access based on your browser\'s signature"}',
            **_CLOUDFLARE | {"Content_Type": "application/problem+json"},
        ),
        "block",
        by="operator network",
    ),
    *(
        _row(name, page(status, title, text), says, by=by, blame="key")
        for name, status, title, text, says, by in (
            (
                "Cloud Run wants a login of Google",
                403,
                "Forbidden",
                "Your client does not have permission to get URL",
                "Forbidden|permission",
                "nobody",
            ),
            ("IIS wants a login", 401, "Unauthorized", "", "of its own", "you"),
            ("Azure", 403, "Web App - Unavailable", "", "stopped", "operator"),
            ("Aliyun", 403, "Non-compliance ICP Filing", "", "ICP", "nobody"),
            ("Laravel", 419, "Page &middot; Expired", "", "Page · Expired", "you"),
        )
    ),
    _row(
        "everything gets 200 and an empty body",
        answering(200, Content_Type="text/html"),
        "it is empty",
        by="operator",
        id="http.spoiled",
    ),
    _row(
        "a script prints a warning before the JSON",
        editing(
            lambda reply: replace(reply, body=b"<br /><b>Warning</b>" + reply.body),
            _endpoint,
        ),
        "<b>Warning|not JSON",
        by="operator",
        id="http.spoiled",
    ),
    _row(
        "answers are marked as gzip, and are not",
        editing(lambda reply: reply.with_field("Content-Encoding", "gzip"), _endpoint),
        "cannot be decompressed",
        by="operator",
        id="http.spoiled",
    ),
    _row(
        "the port is that of a Prometheus exporter",
        answering(200, b"# HELP up\nup 1\n", Content_Type="text/plain"),
        "the port",
        by="you",
        id="http.other_api",
    ),
    _row(
        "the address is that of squid",
        page(400, "ERROR: The requested URL could not be retrieved", "ERR_INVALID_URL"),
        "HTTPS_PROXY",
        by="you",
        id="http.is_proxy",
    ),
    _row(
        "JSON is compressed, and no header says so",
        editing(lambda reply: replace(reply, body=compress(reply.body)), _endpoint),
        "may be .*compressed",
        by="operator network",
    ),
    _row(
        "Cloudflare 1010 as a line of text, for every program",
        answering(403, b"error code: 1010", **_CLOUDFLARE),
        "Cloudflare",
        "1010",
        by="operator network",
    ),
    _chat(
        "F5 rejects completions with a page and 200",
        page(200, "Request Rejected", "Your support ID is: 1843"),
        "Request Rejected",
        by="operator network",
    ),
    Misfortune(
        "a forwarded port of Codespaces is private",
        over_tls(
            serving(),
            behave=answering(302, Location="https://github.com/codespaces/auth/x"),
        ),
        ("github.com",),
        "nobody",
    ),
)
_NETWORKS = (
    *(
        _row(
            f"{who} redirects to its own page",
            answering(302, Location=location),
            *says,
            by="network operator nobody",
            never=("Use the final address",),
        )
        for who, location, *says in (
            (
                "pfSense's captive portal",
                "http://10.1.0.1:8002/index.php?zone=guest&redirurl=http%3A%2F%2Fx",
                "log in",
            ),
            (
                "MikroTik's hotspot",
                "http://hotspot.example/login?dst=http%3A%2F%2F127.0.0.1%2Fv1",
                "log in",
            ),
            (
                "an airline's portal",
                "https://inflight.example/?mac=00aa&url=http%3A%2F%2F127.0.0.1%2Fv1",
                "log in",
            ),
            (
                "a Russian provider",
                "http://blocked.mts.ru/?host=127.0.0.1&url=/v1/models&params=",
                "filter|block",
            ),
            (
                "a school's filter",
                "https://www.securly.com/blocked?useremail=unknown&reason=policy",
                "filter|block",
            ),
            (
                "Palo Alto",
                "https://gp.corp.example:6082/php/uid.php?url=http%3A%2F%2Fx",
            ),
            ("Sophos", "https://fw.corp.example:8090/httpclient.html?u=http%3A%2F%2Fx"),
            ("a Russian filter", "http://zapret.example/?d=127.0.0.1&u=%2Fv1%2Fmodels"),
        )
    ),
    _row(
        "the API's domain was sold, and redirects with a parameter",
        answering(301, Location="https://www.acme.example/?utm_source=api"),
        "redirect",
        r"www\.acme\.example",
        by="you operator",
    ),
)


def _to_this_machine(behave: Behavior) -> Arrange:
    @contextmanager
    def arrange(resources: Resources):
        with proxied(behave)(resources) as made:
            yield replace(made, base_url=made.base_url.replace(SERVICE, "127.0.0.1"))

    return arrange


_PROXIES = (
    Misfortune(
        "a proxy also gets requests for this machine, and never answers",
        _to_this_machine(hanging),
        ("NO_PROXY",),
        "you",
    ),
    Misfortune(
        "NO_PROXY excludes a network, which Python does not read",
        proxied(
            answering(502),
            service="10.1.2.3",
            variables={"no_proxy": "10.0.0.0/8"},
        ),
        ("NO_PROXY contains 10.0.0.0/8",),
        "you",
    ),
    Misfortune(
        "Squid also gets requests for this machine, and denies them",
        _to_this_machine(
            page(
                403,
                "ERROR: The requested URL could not be retrieved",
                Server="squid/5.2",
                X_Squid_Error="ERR_ACCESS_DENIED 0",
            )
        ),
        ("NO_PROXY",),
        "you",
    ),
)


_TLS = (
    Misfortune(
        "only REQUESTS_CA_BUNDLE has the company's authority",
        over_tls(issued_by("Acme Root"), store=other_in("REQUESTS_CA_BUNDLE")),
        ("SSL_CERT_FILE",),
        "you",
        blame="store",
        id="tls.other_file",
    ),
)
_ADDRESSES = (
    Misfortune(
        "localhost is IPv6 first, and the service has only IPv4",
        in_own_network(lambda network: None, host="localhost"),
        ("IPv6|::1",),
        "nobody you network operator",
    ),
)

_HOSTING = (
    _row(
        "FastAPI does not know the name of the host",
        answering(400, b"Invalid host header", **_TEXT),
        "400",
        by="operator",
        id="between.forbidden",
    ),
    _row(
        "nginx takes no header as long as the key: 431",
        when(has_key, page(431, "431 Request Header Fields Too Large"), _endpoint),
        "431 Request Header Fields Too Large",
        by="operator network you",
        key="eyJhbGciOiJIUzI1NiJ9." + "a" * 4000,
    ),
    _row(
        "Caddy redirects to https",
        lambda call: answering(308, Location=f"https://127.0.0.1{call.target}")(call),
        "https://",
        by="you",
    ),
)
_REFUSED = (
    *(
        _row(f"{who} refuses the key", reply, words, by="you", blame="key")
        for who, reply, words in (
            ("one-api", _error(401, "无效的令牌", type="one_api_error"), "无效的令牌"),
            (
                "LiteLLM",
                when(has_key, _error(401, "Invalid proxy server token"), _NO_KEY),
                "Invalid proxy server token",
            ),
            ("Mistral", _json(401, detail="Unauthorized"), "Unauthorized"),
            (
                "Gemini, because of the country,",
                when(
                    has_key, _error(400, "User location is not supported."), _endpoint
                ),
                "country or IP address",
            ),
            (
                "Hugging Face",
                _json(401, error="Invalid username or password."),
                "Invalid username",
            ),
            (
                "Open WebUI",
                when(
                    has_key,
                    _json(401, detail="Your session has expired"),
                    _json(401, detail="Not authenticated"),
                ),
                "session has expired",
            ),
        )
    ),
    _chat(
        "Hugging Face has no provider for the model",
        _json(400, error="The requested model m-1 is not supported."),
        "not supported",
        by="you",
    ),
    _chat(
        "a gateway gives up a completion with 408",
        page(408, "408 Request Time-out"),
        "408",
        by="operator network",
    ),
)

STRANGERS = kind_of(
    "strangers",
    *(
        _PATHS
        + _KEYS
        + _MODELS_OF_OTHERS
        + _WALLS
        + _NETWORKS
        + _PROXIES
        + _TLS
        + _ADDRESSES
        + _HOSTING
        + _REFUSED
    ),
)
