"""Something else responds, or the response is broken."""

from tests.probe import broken_servers, corruptions
from tests.probe.setups import (
    Scenario,
    at_cabinet,
    cabinet_showing,
    on_broken_server,
    responding,
    through_relay,
)
from tests.probe.setups_between import redirect

HTTP = (
    Scenario(
        "the connection is closed before a response",
        "http.cut",
        on_broken_server(broken_servers.close_after_request),
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
        "a gateway cannot reach the service",
        "http.gateway",
        responding(
            502, corruptions.PAGE % b"502 Bad Gateway", Content_Type="text/html"
        ),
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
        "a proxy marks responses as compressed but does not compress them",
        "http.spoiled",
        through_relay(on_response=corruptions.mark_as_compressed),
    ),
    Scenario(
        "a proxy removes `Authorization`",
        "key.stripped",
        through_relay(corruptions.remove_authorization),
    ),
    Scenario(
        "a proxy requires its own login",
        "http.sign_in",
        through_relay(on_response=corruptions.require_login),
    ),
    Scenario(
        "a proxy adds a URL parameter",
        "http.refused",
        through_relay(corruptions.add_parameter),
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
        "the cabinet shows a different address",
        "cabinet.differs",
        cabinet_showing(base_url="https://new.example/v1", since=None, previous=None),
    ),
    Scenario(
        "the service has moved",
        "cabinet.moved",
        cabinet_showing(base_url="https://new.example/v1", since=None, previous="this"),
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
        "single sign-on is in front of the service",
        "http.login_wall",
        responding(302, b"", Location="https://sso.example:8443/oauth2/authorize?x=1"),
    ),
    Scenario("the address is that of the cabinet", "http.cabinet", at_cabinet),
    Scenario(
        "a gateway blocks the request",
        "between.blocked",
        responding(403, b"RBAC: access denied", Server="istio-envoy"),
    ),
)
