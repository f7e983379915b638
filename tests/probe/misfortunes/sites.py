"""The address leads to a web site, a login page or a redirect."""

import re

from tests.probe.gateway import (
    answering,
    page,
)
from tests.probe.misfortunes.arranging import OTHER_KEY, kind_of, row


def _row(name, behave, *says, by="you", **more):
    return row(name, behave, *says, by=by, key=OTHER_KEY, timeout=5.0, **more)


_SITES = (
    _row(
        "the web site of a company",
        page(200, "Acme – Widgets for everyone"),
        "web (page|site)",
        "Acme",
        by="you",
        id="http.html",
    ),
    _row(
        "a web site that knows no such page",
        page(404, "Page not found | Acme"),
        "web (page|site)|404",
        "Page not found",
        by="you operator",
    ),
    _row(
        "a Jupyter server",
        answering(302, Location="/login?next=%2Fv1%2Fmodels"),
        "log ?in|redirect",
        by="nobody",
    ),
)
_WALLS = (
    *(
        _row(
            f"{who} in front of the service",
            answering(302, Location=f"https://{host}/{path}"),
            "log ?in|single sign|SSO",
            re.escape(host),
            by="nobody",
            id="key.kept",
        )
        for who, host, path in (
            ("Keycloak", "sso.example:8443", "realms/acme/openid-connect/auth?x=1"),
            ("Microsoft Entra", "login.microsoftonline.com", "t/oauth2/authorize?x=1"),
            ("Okta", "acme.okta.com", "app/x/sso/saml"),
            ("Cloudflare Access", "acme.cloudflareaccess.com", "cdn-cgi/access/login"),
            ("Google IAP", "accounts.google.com", "o/oauth2/v2/auth?client_id=x"),
            ("Authelia", "auth.example", "?rd=https%3A%2F%2Fecho.example%2Fv1&rm=GET"),
        )
    ),
    _row(
        "a cookie wall redirects to itself until a cookie comes back",
        lambda call: answering(302, Location=call.target, Set_Cookie="seen=1")(call),
        "cookie|loop|itself|same address",
        by="operator network",
        never=("Use the final address", "only a browser can pass"),
        id="http.redirect_loop",
    ),
    _row(
        "a captive portal answers every request with its page",
        page(200, "Free Wi-Fi – Log in"),
        "log ?in|portal",
        by="network",
        id="http.captive_portal",
    ),
    _row(
        "a redirect to another port",
        answering(301, Location="http://127.0.0.1:18443/v1/models"),
        r"127\.0\.0\.1:18443",
        by="you operator",
        id="http.redirect",
    ),
    _row(
        "nginx says that plain HTTP came to its port for HTTPS",
        page(400, "400 The plain HTTP request was sent to HTTPS port", Server="nginx"),
        "Use https://",
        by="you",
        id="http.tls_port",
    ),
    _row(
        "a redirect to another path",
        answering(302, Location="https://a.example/api/v1/models"),
        "Use https://a.example/api/v1 ",
    ),
    _row(
        "a redirect to no address",
        answering(302, Location="http://["),
        "an invalid address",
        id="http.redirect",
    ),
    _row(
        "a redirect to the same address",
        lambda call: answering(308, Location=call.target)(call),
        "redirect",
        by="operator",
        id="http.redirect_loop",
    ),
    _row(
        "a redirect without a Location",
        answering(302),
        "redirect",
        by="operator network",
    ),
)
SITES = kind_of("sites", *_SITES, *_WALLS)
