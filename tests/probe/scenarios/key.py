"""The key is entered with a mistake, or is not accepted."""

from tests.probe import corruptions
from tests.probe.setups import Scenario, revoked_key, with_key

KEY = (
    Scenario("no key is given", "key.none", with_key(lambda key: "")),
    Scenario("the key contains a typo", "key.typo", with_key(corruptions.mistype)),
    Scenario(
        "the key was copied incompletely", "key.cut", with_key(lambda key: key[:-3])
    ),
    Scenario(
        "the key has a newline after it",
        "key.spaces",
        with_key(lambda key: f"{key}\n"),
    ),
    Scenario(
        "the key has quotation marks around it",
        "key.quoted",
        with_key(lambda key: f'"{key}"'),
    ),
    Scenario(
        "the key has the word Bearer before it",
        "key.bearer",
        with_key(lambda key: f"Bearer {key}"),
    ),
    Scenario("the key was pasted twice", "key.long", with_key(lambda key: key * 2)),
    Scenario(
        "the key contains a letter of another alphabet",
        "key.characters",
        with_key(lambda key: key[:-1] + "А"),
    ),
    Scenario(
        "the shortened form of the key was copied",
        "key.mask",
        with_key(lambda key: f"sk-echo-…{key[-4:]}"),
    ),
    Scenario(
        "the key belongs to another service",
        "key.prefix",
        with_key(lambda key: "sk-proj-" + "x" * 40),
    ),
    Scenario("the key is revoked", "key.refused", revoked_key),
)
