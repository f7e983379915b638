"""Something between the probe and the service blocks, changes or loses messages."""

from tests.probe import corruptions, forgetful_gateway
from tests.probe.relay import Response
from tests.probe.setups import Scenario, responding, through_relay
from tests.probe.setups_between import (
    as_http_1_0,
    behind_forgetful_gateway,
    change_authorization,
    compressed_as,
    cutting,
    dated,
    hanging,
    larger_than,
    of,
    redirect,
    refusing,
    with_clocks,
    with_content_type,
    with_field,
    with_headers,
    without_id,
)

HOUR = 3600

BETWEEN = (
    Scenario(
        "a firewall refuses every request",
        "between.blocked",
        responding(403, corruptions.PAGE % b"Access denied", Content_Type="text/html"),
    ),
    Scenario(
        "a bot protection asks for a browser",
        "between.challenge",
        responding(
            503, corruptions.PAGE % b"Just a moment...", Content_Type="text/html"
        ),
    ),
    Scenario(
        "something in between limits the rate",
        "between.rate_limited",
        responding(429, b"slow down", Retry_After="30"),
    ),
    Scenario(
        "something in between answers some requests",
        "between.other_response",
        through_relay(
            on_response=lambda response: (
                response
                if response.status == 404
                else Response(200, "OK", {}, corruptions.PAGE % b"Welcome")
            )
        ),
    ),
    Scenario(
        "a firewall blocks the `openai` package by its User-Agent",
        "between.openai_blocked",
        through_relay(refusing(of("OpenAI"))),
    ),
    Scenario(
        "a firewall blocks the probe by its User-Agent",
        "between.probe_blocked",
        through_relay(cutting(of("readback"))),
    ),
    Scenario(
        "a firewall blocks curl by its User-Agent",
        "between.program_blocked",
        through_relay(refusing(of("curl"), 429)),
    ),
    Scenario(
        "a proxy refuses `Expect: 100-continue`",
        "between.expect_refused",
        through_relay(
            refusing(lambda request: "Expect" in request.headers, 417, b"417")
        ),
    ),
    Scenario(
        "packets above a size are lost (path MTU)",
        "between.mtu",
        through_relay(hanging(larger_than(1340)), timeout=3.0),
    ),
    Scenario(
        "a gateway limits the size of requests",
        "between.size_limit",
        through_relay(refusing(larger_than(4000), 413, b"Too large")),
    ),
    Scenario(
        "idle connections die without a sign",
        "between.idle_dead",
        behind_forgetful_gateway(forgetful_gateway.ignore),
    ),
    Scenario(
        "idle connections are reset when they are used",
        "between.idle_reset",
        behind_forgetful_gateway(forgetful_gateway.reset),
    ),
    Scenario(
        "the clocks of this machine and the service differ",
        "clock.differs",
        through_relay(on_response=dated(-HOUR)),
    ),
    Scenario(
        "the clock of this machine is wrong",
        "clock.machine",
        with_clocks(HOUR, HOUR, "127.0.0.2"),
    ),
    Scenario(
        "the clock of the service is wrong",
        "clock.service",
        with_clocks(HOUR, 0, "127.0.0.2"),
    ),
    Scenario(
        "a gateway changes the key",
        "key.changed",
        through_relay(change_authorization(lambda value: value[:-1] + "0a")),
    ),
    Scenario(
        "a gateway compresses responses in a way that was not asked for",
        "between.coding",
        through_relay(on_response=compressed_as("br")),
    ),
    Scenario(
        "a gateway appends to responses",
        "between.trailing",
        through_relay(
            on_response=lambda response: response.with_body(
                response.body + b"<!-- 1.2.3 -->"
            )
        ),
    ),
    Scenario(
        "a gateway changes the Content-Type",
        "between.content_type",
        through_relay(on_response=with_content_type("text/plain")),
    ),
    Scenario(
        "a gateway names another character set",
        "between.charset_label",
        through_relay(
            on_response=with_content_type("application/json; charset=windows-1251")
        ),
    ),
    Scenario(
        "a gateway puts a byte order mark before responses",
        "between.bom",
        through_relay(
            on_response=lambda response: response.with_body(
                b"\xef\xbb\xbf" + response.body
            )
        ),
    ),
    Scenario(
        "a gateway adds fields to responses",
        "between.fields_added",
        through_relay(on_response=with_field),
    ),
    Scenario(
        "a gateway renames the model",
        "between.model_changed",
        through_relay(
            on_response=lambda response: response.with_body(
                response.body.replace(b'"model":"vendor-', b'"model":"other-')
            )
        ),
    ),
    Scenario(
        "a gateway replaces `X-Request-Id`",
        "between.id_changed",
        through_relay(on_response=with_headers(X_Request_Id="gateway-1")),
    ),
    Scenario(
        "a gateway removes `X-Request-Id` from successful responses",
        "between.request_id_removed",
        through_relay(on_response=without_id),
    ),
    Scenario(
        "a bot protection sets cookies",
        "between.bot_protection",
        through_relay(on_response=with_headers(Set_Cookie="__cf_bm=x; path=/")),
    ),
    Scenario(
        "a cache answers",
        "between.cached",
        through_relay(on_response=with_headers(Age="12", X_Cache="HIT")),
    ),
    Scenario(
        "a proxy responds with HTTP/1.0",
        "between.http_1_0",
        through_relay(on_response=as_http_1_0),
    ),
    Scenario(
        "a gateway cuts responses off",
        "between.cut",
        through_relay(on_response=corruptions.cut_in_a_character),
    ),
    Scenario(
        "a gateway counts characters instead of bytes",
        "between.length_in_characters",
        through_relay(on_response=corruptions.count_characters),
    ),
    Scenario(
        "a gateway changes `finish_reason`",
        "between.fields_changed",
        through_relay(on_response=corruptions.change_finish_reason),
    ),
    Scenario(
        "a protection waits for a cookie",
        "between.cookie_wall",
        through_relay(lambda request: redirect(request.target, Set_Cookie="seen=1")),
    ),
)
