"""The key is entered with a mistake, or is not accepted."""

import base64
import json

from readback import keys
from tests.probe import corruptions
from tests.probe.setups import Scenario, revoked_key, with_key

KEY = (
    Scenario("no key is given", "key.none", with_key(lambda key: "")),
    Scenario("the key contains a typo", "key.typo", with_key(corruptions.mistype)),
    Scenario(
        "the key was copied incompletely", "key.cut", with_key(lambda key: key[:-3])
    ),
    Scenario(
        "the key has a wrong character and extra ones",
        "key.long",
        with_key(lambda key: corruptions.mistype(key) + "abc"),
    ),
    Scenario(
        "the key contains a hyphen in place of a letter",
        "key.characters",
        with_key(lambda key: key[:-1] + "-"),
    ),
    Scenario(
        "the key contains a letter of another alphabet",
        "key.script",
        with_key(lambda key: key[:-1] + "Ж"),
    ),
    Scenario(
        "the key was converted to lower case", "key.one_case", with_key(str.lower)
    ),
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
        "the key cannot be sent in a header",
        "key.unsendable",
        with_key(lambda key: "sk-proj-ключ"),
    ),
    Scenario(
        "the key belongs to another service",
        "key.prefix",
        with_key(lambda key: "sk-proj-" + "x" * 40),
    ),
    Scenario(
        "the key has a newline after it", "key.spaces", with_key(lambda key: f"{key}\n")
    ),
    Scenario(
        "the key contains an invisible character",
        "key.invisible",
        with_key(lambda key: f"{key[:20]}\u200b{key[20:]}"),
    ),
    Scenario(
        "the key is broken into two lines",
        "key.broken",
        with_key(lambda key: f"{key[:20]}\n{key[20:]}"),
    ),
    Scenario(
        "the key has quotation marks around it",
        "key.quoted",
        with_key(lambda key: f'"{key}"'),
    ),
    Scenario(
        "the key has brackets around it",
        "key.brackets",
        with_key(lambda key: f"<{key}>"),
    ),
    Scenario(
        "the key has the word Bearer before it",
        "key.bearer",
        with_key(lambda key: f"Bearer {key}"),
    ),
    Scenario(
        "the whole `Authorization` header was copied",
        "key.header",
        with_key(lambda key: f"Authorization: Bearer {key}"),
    ),
    Scenario(
        "the key has the name of a variable before it",
        "key.assignment",
        with_key(lambda key: f"READBACK_API_KEY={key}"),
    ),
    Scenario(
        "the key was copied with its `export` command",
        "key.export",
        with_key(lambda key: f'export READBACK_API_KEY="{key}"'),
    ),
    Scenario(
        "the key is inside JSON",
        "key.json",
        with_key(lambda key: json.dumps({"api_key": key, "model": "x"})),
    ),
    Scenario(
        "the key has a full stop after it",
        "key.punctuation",
        with_key(lambda key: f"{key}."),
    ),
    Scenario(
        "the key has extra characters after it",
        "key.extra",
        with_key(lambda key: f"{key}0"),
    ),
    Scenario(
        "the key is inside a sentence",
        "key.surrounded",
        with_key(lambda key: f"your key is {key} for now"),
    ),
    Scenario("the key was pasted twice", "key.twice", with_key(lambda key: key * 2)),
    Scenario(
        "two different keys were pasted",
        "key.several",
        with_key(lambda key: f"{key}\n{keys.mint()}"),
    ),
    Scenario(
        "the key contains look-alike letters",
        "key.letters",
        with_key(lambda key: key.replace("echo", "есhо")),
    ),
    Scenario(
        "the hyphens of the key are dashes",
        "key.dash",
        with_key(lambda key: key.replace("-", "–")),
    ),
    Scenario("the key was typed with Caps Lock on", "key.case", with_key(str.swapcase)),
    Scenario(
        "the key is percent-encoded",
        "key.percent_encoded",
        with_key(lambda key: key.replace("-", "%2D")),
    ),
    Scenario(
        "the key is encoded in Base64",
        "key.base64",
        with_key(lambda key: base64.b64encode(key.encode()).decode()),
    ),
    Scenario("the key is revoked", "key.refused", revoked_key),
)
