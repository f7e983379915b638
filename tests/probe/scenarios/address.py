"""The address is entered with a mistake."""

from tests.probe.setups import Scenario, at_ops_port, entered_as

OTHER_KEY = "sk-proj-0123456789abcdef0123456789"

ADDRESS = (
    Scenario(
        "the address contains `/v1` twice",
        "address.corrected",
        entered_as(lambda url: f"{url}/v1"),
    ),
    Scenario(
        "the host has a letter of another alphabet",
        "address.letters",
        # The first o is Cyrillic.
        entered_as(lambda url: url.replace("127.0.0.1", "lоcalhost")),
    ),
    Scenario(
        "the address ends with a slash",
        "address.trailing_slash",
        entered_as(lambda url: f"{url}/"),
    ),
    Scenario(
        "the address contains a key",
        "address.contains_key",
        entered_as(lambda url: f"{url}?key={OTHER_KEY}"),
    ),
    Scenario(
        "the address is that of a server that listens everywhere",
        "address.listen",
        entered_as(lambda url: url.replace("127.0.0.1", "0.0.0.0")),
    ),
    Scenario(
        "a key is given as the address",
        "address.is_key",
        entered_as(lambda url: f"OPENAI_API_KEY={OTHER_KEY}"),
    ),
    Scenario(
        "the address contains a password with a slash",
        "address.unreadable",
        entered_as(lambda url: url.replace("//", "//alice:hu/sh@")),
    ),
    Scenario(
        "the address is the name of a variable",
        "address.placeholder",
        entered_as(lambda url: "$OPENAI_BASE_URL"),
    ),
    Scenario("the port is that of the operations", "http.no_such_path", at_ops_port),
)
