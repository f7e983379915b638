"""Cloud platforms answer instead of the service, with their own errors and pages.

The report must show the platform's own words.
"""

import re

from tests.probe.gateway import answering, as_json, page
from tests.probe.misfortunes.arranging import kind_of, row


def _message(name, status, message, *says, by, finding="", **headers):
    """Answer with an error in JSON; the report must show its status and message."""
    behave = as_json(status, {"message": message}, **headers)
    return row(name, behave, str(status), re.escape(message), *says, by=by, id=finding)


def _text(name, status, text, *says, by, finding="", **headers):
    """Answer with an error in plain text; the report must show its status and text."""
    headers["Content_Type"] = "text/plain"
    behave = answering(status, text.encode(), **headers)
    return row(name, behave, str(status), re.escape(text), *says, by=by, id=finding)


_CLOUDFLARE = (
    ("Web server is returning an unknown error", 520, r"unknown|unexpected|origin"),
    ("A timeout occurred", 524, r"time|too long|slow"),
    ("Invalid SSL certificate", 526, r"certificate"),
    ("Origin DNS error", 530, r"DNS|name|resolve|behind|reach"),
)
_CLOUDFLARE_ROWS = tuple(
    row(
        f"Cloudflare answers {status}: {title}",
        page(
            status,
            f"echo.example | {status}: {title}",
            f"Error code {status}. Cloudflare Ray ID: 8f1c2d3e4a5b6c7d",
            Server="cloudflare",
            CF_RAY="8f1c2d3e4a5b6c7d-AMS",
        ),
        str(status),
        meaning,
        by="operator",
        shows=("cloudflare",),
        id="http.gateway",
    )
    for title, status, meaning in _CLOUDFLARE
)


_PLATFORMS = (
    row(
        "Heroku: the application has crashed (H10)",
        page(
            503,
            "Application error",
            "An error occurred in the application.",
            Server="Cowboy",
            Via="1.1 vegur",
        ),
        "503",
        "Application error|Heroku|down|crash",
        by="operator",
    ),
    row(
        "Cloudflare: the connector of a tunnel is down (1033)",
        page(530, "Cloudflare Tunnel error", "Error 1033", Server="cloudflare"),
        "tunnel's program .*not running",
        by="operator",
        id="http.gateway",
    ),
    *(
        row(
            f"ngrok: {what} ({code})",
            page(status, "ngrok", f"{what} {code}", Ngrok_Error_Code=code),
            "ngrok",
            code,
            by=by,
        )
        for code, status, what, by in (
            ("ERR_NGROK_3200", 404, "the endpoint is offline", "operator"),
            ("ERR_NGROK_8012", 502, "nothing listens behind the agent", "operator"),
            ("ERR_NGROK_6024", 200, "a browser has to confirm", "you"),
        )
    ),
    _message(
        "AWS API Gateway: Forbidden",
        403,
        "Forbidden",
        by="nobody",
        x_amzn_ErrorType="ForbiddenException",
    ),
    _message(
        "AWS API Gateway: Missing Authentication Token",
        403,
        "Missing Authentication Token",
        by="nobody",
        x_amzn_ErrorType="MissingAuthenticationTokenException",
    ),
    _message("AWS API Gateway", 504, "Endpoint request timed out", by="operator"),
    row(
        "S3: AccessDenied",
        answering(
            403,
            b'<?xml version="1.0"?><Error><Code>AccessDenied</Code>'
            b"<Message>Access Denied</Message></Error>",
            Content_Type="application/xml",
            Server="AmazonS3",
        ),
        "403|S3",
        "Access ?Denied|S3|storage",
        by="you",
    ),
    _message(
        "Kong: no Route matched",
        404,
        "no Route matched with those values",
        by="you operator",
        Server="kong/3.4.0",
    ),
    _message(
        "Kong asks for its own key",
        401,
        "No API key found in request",
        by="nobody",
        finding="key.kept",
        WWW_Authenticate='Key realm="kong"',
        Server="kong/3.4.0",
    ),
    _text("the ingress of Kubernetes", 404, "default backend - 404", by="you operator"),
    _text("Envoy", 503, "no healthy upstream", by="operator", Server="envoy"),
    _text(
        "Istio",
        403,
        "RBAC: access denied",
        by="nobody",
        Server="istio-envoy",
    ),
    _text("Traefik", 404, "404 page not found", by="you operator"),
)

CLOUDS = kind_of("clouds", *_CLOUDFLARE_ROWS, *_PLATFORMS)
