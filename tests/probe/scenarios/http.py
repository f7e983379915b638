"""Something else responds, or the response is broken."""

from tests.probe import broken_servers, corruptions
from tests.probe.provider import error
from tests.probe.setups import (
    Scenario,
    at_cabinet,
    cabinet_showing,
    on_broken_server,
    responding,
    through_relay,
)
from tests.probe.setups_between import redirect
from tests.probe.setups_endpoint import strip_headers
from tests.probe.setups_tls import redirected

HTTP = (
    Scenario(
        "the connection is closed before a response",
        "http.cut",
        on_broken_server(broken_servers.close_after_request),
    ),
    Scenario(
        "the response has too many headers",
        "http.malformed",
        on_broken_server(broken_servers.send_many_headers),
    ),
    Scenario(
        "the connection is closed in the middle of the response",
        "http.cut_short",
        on_broken_server(broken_servers.send_half),
    ),
    Scenario(
        "the response stops in the middle",
        "http.stalled",
        on_broken_server(broken_servers.stall_half_way),
    ),
    Scenario(
        "no response arrives",
        "http.silent",
        on_broken_server(broken_servers.stay_silent),
    ),
    Scenario(
        "the port does not speak HTTP",
        "http.not_http",
        on_broken_server(broken_servers.greet),
    ),
    Scenario(
        "a web site responds",
        "http.html",
        responding(200, corruptions.PAGE % b"Welcome", Content_Type="text/html"),
    ),
    Scenario(
        "a captive portal responds",
        "http.captive_portal",
        responding(200, corruptions.PAGE % b"Hotel Wi-Fi", Content_Type="text/html"),
    ),
    Scenario(
        "a proxy responds with its own page",
        "http.proxy_page",
        responding(
            403, corruptions.PAGE % b"Access denied", Via="1.1 office (squid/6.6)"
        ),
    ),
    Scenario(
        "a gateway cannot reach the service",
        "http.gateway",
        responding(
            502, corruptions.PAGE % b"502 Bad Gateway", Content_Type="text/html"
        ),
    ),
    Scenario(
        "the server has an error of its own",
        "http.server_error",
        responding(500, b"Internal Server Error", Content_Type="text/plain"),
    ),
    Scenario(
        "another API responds",
        "http.other_api",
        responding(404, b'{"detail":"Not Found"}', Content_Type="application/json"),
    ),
    Scenario(
        "something else responds", "http.other", responding(200, b"It works, somehow.")
    ),
    Scenario(
        "the response is a redirect to another address",
        "http.redirect",
        responding(307, b"", Location="http://127.0.0.1:1/v2/models"),
    ),
    Scenario(
        "the response is a redirect to `https://`",
        "http.redirect_https",
        responding(301, b"", Location="https://127.0.0.1/v1/models"),
    ),
    Scenario(
        "a proxy compresses responses",
        "http.compressed",
        through_relay(on_response=corruptions.compress_response),
    ),
    Scenario(
        "a proxy marks responses as compressed but does not compress them",
        "http.garbled",
        through_relay(on_response=corruptions.mark_as_compressed),
    ),
    Scenario(
        "a proxy removes `Authorization`",
        "key.stripped",
        through_relay(corruptions.remove_authorization),
    ),
    Scenario(
        "a proxy requires its own login",
        "key.other_refusal",
        through_relay(on_response=corruptions.require_login),
    ),
    Scenario(
        "a gateway removes the headers that start with X-",
        "http.headers_stripped",
        through_relay(on_response=strip_headers),
    ),
    Scenario(
        "a proxy adds a URL parameter",
        "http.parameter_added",
        through_relay(corruptions.add_parameter),
    ),
    Scenario(
        "a proxy removes URL parameters",
        "parameter.ignored",
        through_relay(corruptions.remove_parameters),
    ),
    Scenario(
        "a gateway rewrites the path",
        "http.path_changed",
        through_relay(corruptions.rewrite_path),
    ),
    Scenario(
        "a gateway adds models to the list",
        "models.changed",
        through_relay(on_response=corruptions.add_model),
    ),
    Scenario(
        "the service limits the rate",
        "http.rate_limited",
        through_relay(
            on_response=corruptions.refuse(429, "rate_limited", Retry_After="7")
        ),
    ),
    Scenario(
        "the service cannot reach its database",
        "http.unavailable",
        through_relay(
            on_response=corruptions.refuse(503, "unavailable", Retry_After="1")
        ),
    ),
    Scenario(
        "a gateway adds a field to requests",
        "http.refused",
        through_relay(corruptions.add_field),
    ),
    Scenario(
        "a proxy shortens texts that are too long",
        "limit.ignored",
        through_relay(corruptions.shorten_content(8192)),
    ),
    Scenario(
        "a proxy has a lower limit than the service",
        "limit.refused_elsewhere",
        through_relay(on_response=corruptions.refuse_large_content),
    ),
    Scenario(
        "a proxy closes every connection",
        "reuse.closed",
        through_relay(on_response=corruptions.close_connection),
    ),
    Scenario(
        "a proxy delays responses",
        "latency.slow",
        through_relay(on_response=corruptions.delay_completions),
    ),
    Scenario(
        "the cabinet shows a different address",
        "cabinet.differs",
        cabinet_showing(base_url="https://new.example/v1", since=None, previous=None),
    ),
    Scenario(
        "the given cabinet address is not a cabinet",
        "cabinet.unreachable",
        cabinet_showing(404),
    ),
    Scenario(
        "the service has moved",
        "cabinet.moved",
        cabinet_showing(base_url="https://new.example/v1", since=None, previous="this"),
    ),
    Scenario(
        "a gateway keeps the length of another body",
        "http.length_too_large",
        through_relay(on_response=corruptions.count_too_much),
    ),
    Scenario(
        "an error has the status 200",
        "http.error_in_success",
        through_relay(on_response=corruptions.fail_with_200),
    ),
    Scenario(
        "a gateway redirects to the same address",
        "http.redirect_loop",
        through_relay(lambda request: redirect(request.target)),
    ),
    Scenario(
        "a gateway adds a slash to every path",
        "http.redirect_slash",
        through_relay(lambda request: redirect(f"{request.target}/")),
    ),
    Scenario("`https://` redirects to `http://`", "http.redirect_plain", redirected),
    Scenario(
        "single sign-on is in front of the service",
        "http.login_wall",
        responding(302, b"", Location="https://sso.example:8443/oauth2/authorize?x=1"),
    ),
    Scenario(
        "the service is down for maintenance",
        "http.maintenance",
        responding(
            503,
            corruptions.PAGE % b"Down for maintenance",
            Content_Type="text/html",
            Retry_After="3600",
        ),
    ),
    Scenario("the address is that of the cabinet", "http.cabinet", at_cabinet),
    Scenario(
        "the server has no such path",
        "http.no_such_path",
        responding(404, b"404 page not found", Content_Type="text/plain"),
    ),
    Scenario(
        "an API has neither models nor completions at the address",
        "http.no_such_api",
        responding(404, error(message="Resource not found", code="404")),
    ),
    Scenario(
        "a gateway explains why it cannot reach the service",
        "gateway.down",
        responding(521, b"error code: 521", Server="cloudflare"),
    ),
    Scenario(
        "a gateway blocks the request",
        "gateway.blocks",
        responding(403, b"RBAC: access denied", Server="istio-envoy"),
    ),
    Scenario(
        "a gateway has no such application",
        "gateway.address",
        responding(404, b"offline", Ngrok_Error_Code="ERR_NGROK_3200"),
    ),
    Scenario(
        "a gateway requires a header of its own",
        "gateway.request",
        responding(200, b"ERR_NGROK_6024", Ngrok_Error_Code="ERR_NGROK_6024"),
    ),
    Scenario(
        "a gateway wraps the JSON of responses",
        "between.body_changed",
        through_relay(
            on_response=lambda response: response.with_body(b"cb(%b)" % response.body)
        ),
    ),
)
