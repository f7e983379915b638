"""The address is entered with a mistake."""

from tests.probe.setups import Scenario, entered_as

ADDRESS = (
    Scenario(
        "`/v1` is missing from the address",
        "address.no_version",
        entered_as(lambda url: url.removesuffix("/v1")),
    ),
    Scenario(
        "the address contains `/v1` twice",
        "address.doubled",
        entered_as(lambda u: f"{u}/v1"),
    ),
    Scenario(
        "the address includes an endpoint path",
        "address.endpoint",
        entered_as(lambda url: f"{url}/chat/completions"),
    ),
    Scenario(
        "the address has spaces around it",
        "address.spaces",
        entered_as(lambda url: f" {url}\n"),
    ),
    Scenario(
        "the address has no scheme",
        "address.no_scheme",
        entered_as(lambda url: url.removeprefix("http://")),
    ),
    Scenario(
        "the address contains a URL parameter",
        "address.parameter",
        entered_as(lambda url: f"{url}?a=b"),
    ),
    Scenario(
        "the address ends with a slash",
        "address.trailing_slash",
        entered_as(lambda url: f"{url}/"),
    ),
    Scenario(
        "the address has an extra slash in its path",
        "address.slashes",
        entered_as(lambda url: url.replace("/v1", "//v1")),
    ),
    Scenario(
        "the address contains a password",
        "address.login",
        entered_as(lambda url: url.replace("//", "//alice:hush@")),
    ),
    Scenario(
        "the address is not an HTTP URL",
        "address.scheme",
        entered_as(lambda url: url.replace("http", "ftp")),
    ),
    Scenario(
        "the address has an invalid port",
        "address.host",
        entered_as(lambda url: "http://127.0.0.1:99999/v1"),
    ),
)
