"""Something between the probe and the service blocks, changes or loses messages."""

from tests.probe import corruptions
from tests.probe.relay import Response
from tests.probe.setups import Scenario, responding, through_relay
from tests.probe.setups_between import (
    cutting,
    hanging,
    larger_than,
    of,
    refusing,
)

BETWEEN = (
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
        "between.program_blocked",
        through_relay(cutting(of("readback"))),
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
)
