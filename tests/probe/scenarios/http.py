"""Something else responds, or the response is broken."""

from tests.probe import broken_servers, corruptions
from tests.probe.setups import (
    Scenario,
    cabinet_showing,
    on_broken_server,
    responding,
    through_relay,
)
from tests.probe.setups_endpoint import strip_headers

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
)
