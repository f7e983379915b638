"""The address leads to a web site or to a page where people log in."""

from dataclasses import replace

from tests.probe.gateway import (
    answering,
    page,
)
from tests.probe.misfortunes.arranging import kind_of, through
from tests.probe.misfortunes.judging import Misfortune

_KEY = "sk-proj-" + "T3BlbkFJ" * 5


def _row(name, behave, *says, by="you", path="/v1", key=_KEY, chat=None, **more):
    arrange = through(behave, path, key=key, chat=chat, timeout=5.0)
    return Misfortune(name, arrange, says, by, blame="program", **more)


def _login(location: str):
    return answering(302, Location=location)


def _cookie_wall(call):
    return answering(302, Location=call.target, Set_Cookie="seen=1; Path=/")(call)


_SITES = (
    _row(
        "the web site of a company",
        page(200, "Acme – Widgets for everyone"),
        "web (page|site)",
        "Acme",
        by="you",
    ),
    _row(
        "a web site that knows no such page",
        page(404, "Page not found | Acme"),
        "web (page|site)|404",
        "Page not found",
        by="you operator",
    ),
    _row(
        "the default page of nginx",
        page(200, "Welcome to nginx!"),
        "nginx",
        by="you operator",
    ),
    _row(
        "a single-page application answers everything",
        answering(
            200,
            b"<!doctype html><html><head><title>Console</title></head><body>"
            b'<div id="root"></div><script src="/app.js"></script></body></html>',
            Content_Type="text/html",
        ),
        "Console",
        by="you",
    ),
    _row(
        "a router's page",
        page(
            401,
            "401 Unauthorized",
            "TP-LINK Archer C7",
            WWW_Authenticate='Basic realm="TP-LINK Wireless Router"',
        ),
        "401|login",
        by="you network operator",
    ),
    _row(
        "a JSON file server lists a folder",
        page(200, "Index of /v1/"),
        "Index of",
        by="you operator",
    ),
    _row(
        "a Jupyter server",
        _login("/login?next=%2Fv1%2Fmodels"),
        "log ?in|redirect",
        by="you operator network",
    ),
    _row(
        "a parked domain",
        page(200, "echo-example.com is for sale"),
        "for sale",
        by="you operator",
    ),
)
_WALLS = (
    _row(
        "Keycloak in front of the service",
        _login(
            "https://sso.example:8443/realms/acme/protocol/openid-connect/auth"
            "?client_id=gw"
        ),
        "log ?in|single sign|SSO",
        r"sso\.example:8443",
        by="operator network you",
        never=("Use the final address",),
    ),
    _row(
        "Microsoft Entra in front of the service",
        _login("https://login.microsoftonline.com/t/oauth2/v2.0/authorize?x=1"),
        "log ?in|single sign|SSO",
        r"login\.microsoftonline\.com",
        by="operator network you",
        never=("Use the final address",),
    ),
    _row(
        "Okta in front of the service",
        _login("https://acme.okta.com/app/x/sso/saml"),
        "log ?in|single sign|SSO",
        r"acme\.okta\.com",
        by="operator network you",
        never=("Use the final address",),
    ),
    _row(
        "Cloudflare Access in front of the service",
        _login("https://acme.cloudflareaccess.com/cdn-cgi/access/login/echo.example"),
        "log ?in|single sign|SSO|Access",
        r"cloudflareaccess",
        by="operator network you",
        never=("Use the final address",),
    ),
    _row(
        "Google IAP in front of the service",
        _login("https://accounts.google.com/o/oauth2/v2/auth?client_id=x"),
        "log ?in|single sign|SSO",
        r"accounts\.google\.com",
        by="operator network you",
        never=("Use the final address",),
    ),
    _row(
        "oauth2-proxy in front of the service",
        page(403, "Sign In", "oauth2-proxy"),
        "log ?in|sign ?in",
        by="operator network you",
    ),
    _row(
        "Authelia in front of the service",
        _login(
            "https://auth.example/?rd=https%3A%2F%2Fecho.example%2Fv1%2Fmodels&rm=GET"
        ),
        r"auth\.example",
        by="operator network you",
    ),
    _row(
        "a cookie wall redirects to itself until a cookie comes back",
        lambda call: _cookie_wall(call),
        "cookie|loop|itself|same address",
        by="operator network",
        never=("Use the final address",),
    ),
    _row(
        "a hotel's portal on another port",
        _login("http://10.1.0.1:8880/guest/s/default/?ap=x"),
        r"10\.1\.0\.1:8880",
        "log ?in|portal|network|redirect",
        by="network you",
    ),
    _row(
        "a captive portal answers every request with its page",
        page(200, "Free Wi-Fi – Log in"),
        "log ?in|portal",
        by="network",
    ),
    _row(
        "a captive portal with a meta refresh",
        answering(
            200,
            b'<html><head><meta http-equiv="refresh" content="0; url='
            b'http://portal.example:8080/login"></head></html>',
            Content_Type="text/html",
        ),
        "portal|log ?in|page",
        by="network you",
    ),
    _row(
        "two addresses redirect to each other",
        lambda call: answering(
            302, Location="/b/models" if "/b/" not in call.target else "/v1/models"
        )(call),
        "redirect|loop",
        by="operator network you",
    ),
    _row(
        "a redirect to another port",
        answering(301, Location="http://127.0.0.1:18443/v1/models"),
        r"127\.0\.0\.1:18443",
        by="you operator",
    ),
    _row(
        "a redirect to www",
        answering(301, Location="http://www.echo.example/v1/models"),
        r"www\.echo\.example",
        by="you",
    ),
    _row(
        "a redirect that adds a slash",
        lambda call: answering(308, Location=call.target + "/")(call),
        "slash|redirect",
        by="operator network you",
    ),
    _row(
        "a redirect without a Location",
        answering(302),
        "redirect",
        by="operator network",
    ),
)
# A web page may be the cabinet's; nothing in these says that it is not.
_SITES = tuple(replace(one, blame="cabinet") for one in _SITES)
SITES = kind_of("sites", *_SITES, *_WALLS)
