"""Web servers, gateways and firewalls answer instead of the service.

The report must show the gateway's own words.
"""

from tests.probe.gateway import (
    Reply,
    answering,
    as_json,
    editing,
    has_key,
    is_chat,
    is_models,
    page,
    when,
)
from tests.probe.misfortunes.arranging import OTHERS, kind_of, row

_LOGIN = Reply(401, "No", (("WWW-Authenticate", "Basic"),), b"login")
_PAGES = (
    row(
        "nginx: 413 for every request with a body",
        when(is_chat, page(413, "413 Request Entity Too Large")),
        "413|size|large",
    ),
    row(
        "an empty nginx instead of the service",
        when(
            lambda call: call.target == "/",
            page(200, "Welcome to nginx!"),
            page(404, "404 Not Found"),
        ),
        "Welcome to nginx!",
        "tell the operator",
        by="operator you",
        never=("OpenRouter",),
        id="http.no_such_path",
    ),
    row(
        "a gateway hides the list of models of a Readback",
        when(is_models, page(404, "404 Not Found")),
        "404",
        "address is right",
        by="operator",
        id="between.other_response",
    ),
    row(
        "Cloudflare Access redirects to its login",
        answering(302, Location="https://acme.cloudflareaccess.com/cdn-cgi/login"),
        "login page",
        "CF-Access-Client-Id",
        by="nobody",
        id="key.kept",
    ),
    row(
        "nginx: 405 Not Allowed for POST",
        when(is_chat, page(405, "405 Not Allowed")),
        "405",
        "method|POST|405",
        by="operator",
        id="between.other_response",
    ),
    row(
        "nginx: 421 Misdirected Request",
        page(421, "421 Misdirected Request"),
        "421",
        "Misdirected|host|certificate",
        by="operator network you",
    ),
    row(
        "Cloudflare 1020: Access denied by a rule",
        page(
            403,
            "Access denied | echo.example used Cloudflare to restrict access",
            "Error code 1020",
            Server="cloudflare",
            CF_RAY="8f-AMS",
        ),
        "403",
        "cloudflare|Access denied",
        id="between.blocked",
    ),
    row(
        "Cloudflare 1015: you are being rate limited",
        page(
            429,
            "Access denied | echo.example used Cloudflare to restrict access",
            "Error 1015. You are being rate limited",
            Server="cloudflare",
            Retry_After="60",
        ),
        "rate|429",
        "60",
        by="nobody",
    ),
    row(
        "Cloudflare challenges with Turnstile",
        page(
            403,
            "Just a moment...",
            "Enable JavaScript and cookies to continue",
            Server="cloudflare",
            Cf_Mitigated="challenge",
        ),
        "browser|bot",
        by="operator",
        id="between.challenge",
    ),
    row(
        "a maintenance page answers 200",
        page(200, "Scheduled maintenance", "We are updating our systems."),
        "maintenance",
        by="operator you",
    ),
    row(
        "a 200 has an error inside",
        as_json(200, {"error": {"message": "Backend pool exhausted", "code": 502}}),
        "Backend pool exhausted",
        by="operator network you",
        id="http.error_in_success",
    ),
    row(
        "a gateway answers 200 with an empty body",
        answering(200),
        "empty|not an API|nothing",
    ),
    row(
        "a gateway answers 202 and nothing else",
        answering(202, b"{}", Content_Type="application/json"),
        "202",
        by="you network operator",
    ),
    row(
        "a gateway answers 418",
        answering(418, b"I'm a teapot"),
        "418",
        id="http.other_api",
    ),
    *(
        row(f"{title} ({status})", page(status, title), str(status), title, by=by)
        for status, title, by in (
            (451, "Unavailable For Legal Reasons", OTHERS),
            (507, "Insufficient Storage", "operator"),
            (599, "Network Connect Timeout Error", OTHERS),
            (999, "Request denied", OTHERS),
        )
    ),
    row(
        "a gateway answers 511 Network Authentication Required",
        page(511, "Network Authentication Required", "Log in to the network."),
        "log in",
        by="network",
    ),
    row(
        "a firewall refuses requests with a key",
        when(has_key, page(403, "Blocked by data loss prevention")),
        "403",
        "data loss prevention",
    ),
    row(
        "a proxy that is not configured requires a login",
        answering(407),
        "proxy",
        by="network",
        id="http.proxy_page",
    ),
    row(
        "a gateway requires its own login, except for unknown paths",
        editing(lambda reply: reply if reply.status == 404 else _LOGIN),
        "login",
        id="http.sign_in",
    ),
    row(
        "the service cannot reach its database",
        when(has_key, as_json(503, {"error": {"code": "unavailable"}})),
        "database|503",
        by="operator",
        id="http.unavailable",
    ),
    row(
        "a firewall blocks the `openai` package by its User-Agent",
        when(lambda call: "OpenAI" in call["User-Agent"], page(403, "No")),
        "User-Agent",
        blame="agent",
        id="between.program_blocked",
    ),
)

GATEWAYS = kind_of("gateways", *_PAGES)
