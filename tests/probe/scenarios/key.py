"""The key is entered with a mistake, or is not accepted."""

from tests.probe import corruptions
from tests.probe.setups import Scenario, revoked_key, with_key

KEY = (
    Scenario("no key is given", "key.none", with_key(lambda key: "")),
    Scenario("the key contains a typo", "key.invalid", with_key(corruptions.mistype)),
    Scenario(
        "the shortened form of the key was copied",
        "key.mask",
        with_key(lambda key: f"sk-echo-…{key[-4:]}"),
    ),
    Scenario(
        "the name of a variable was given instead of the key",
        "key.variable",
        with_key(lambda key: "$READBACK_API_KEY"),
    ),
    Scenario(
        "the key belongs to another service",
        "key.prefix",
        with_key(lambda key: "sk-proj-" + "x" * 40),
    ),
    Scenario(
        "the key has a newline after it",
        "key.corrected",
        with_key(lambda key: f"{key}\n"),
    ),
    Scenario("the key is revoked", "key.refused", revoked_key),
)
