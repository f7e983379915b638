"""The address is entered with a mistake."""

from urllib.parse import quote, urlsplit

from tests.probe.setups import Scenario, at_ops_port, entered_as

OTHER_KEY = "sk-proj-0123456789abcdef0123456789"

ADDRESS = (
    Scenario(
        "the address has another version than `/v1`",
        "address.other_version",
        entered_as(lambda url: url.replace("/v1", "/v2")),
    ),
    Scenario(
        "`/v1` is missing from the address",
        "address.no_version",
        entered_as(lambda url: url.removesuffix("/v1")),
    ),
    Scenario(
        "the address contains `/v1` twice",
        "address.doubled",
        entered_as(lambda url: f"{url}/v1"),
    ),
    Scenario(
        "the address has a capital `/V1`",
        "address.version_case",
        entered_as(lambda url: url.replace("/v1", "/V1")),
    ),
    Scenario(
        "the address ends with a letter, `/vl`",
        "address.version_letter",
        entered_as(lambda url: url.replace("/v1", "/vl")),
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
        "the address contains an invisible character",
        "address.invisible",
        entered_as(lambda url: f"{url}\u200b"),
    ),
    Scenario(
        "the address has quotation marks around it",
        "address.quoted",
        entered_as(lambda url: f"“{url}”"),
    ),
    Scenario(
        "the address has brackets around it",
        "address.brackets",
        entered_as(lambda url: f"[{url}]"),
    ),
    Scenario(
        "the address is a Markdown link",
        "address.markdown",
        entered_as(lambda url: f"[our API]({url})"),
    ),
    Scenario(
        "the address has the name of a variable before it",
        "address.assignment",
        entered_as(lambda url: f'export OPENAI_BASE_URL="{url}"'),
    ),
    Scenario(
        "the address is inside a sentence",
        "address.surrounded",
        entered_as(lambda url: f"the API is at {url} now"),
    ),
    Scenario(
        "the address has a comma after it",
        "address.punctuation",
        entered_as(lambda url: f"{url},"),
    ),
    Scenario(
        "the address is percent-encoded",
        "address.percent_encoded",
        entered_as(lambda url: quote(url, safe="")),
    ),
    Scenario(
        "the address is written with backslashes",
        "address.backslashes",
        entered_as(lambda url: url.replace("/", "\\")),
    ),
    Scenario(
        "the host has a letter of another alphabet",
        "address.letters",
        # The first o is Cyrillic.
        entered_as(lambda url: url.replace("127.0.0.1", "lоcalhost")),
    ),
    Scenario(
        "the address has no scheme",
        "address.no_scheme",
        entered_as(lambda url: url.removeprefix("http://")),
    ),
    Scenario(
        "the address has one slash after its scheme",
        "address.scheme_slashes",
        entered_as(lambda url: url.replace("//", "/")),
    ),
    Scenario(
        "the address has two schemes",
        "address.doubled_scheme",
        entered_as(lambda url: f"https://{url}"),
    ),
    Scenario(
        "the scheme is misspelt",
        "address.scheme_typo",
        entered_as(lambda url: url.replace("http", "htp")),
    ),
    Scenario(
        "the address contains its port twice",
        "address.doubled_port",
        entered_as(lambda url: url.replace("/v1", f":{urlsplit(url).port}/v1")),
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
        "the path of the address contains a key",
        "address.has_key",
        entered_as(lambda url: f"{url}/{OTHER_KEY}"),
    ),
    Scenario(
        "the address contains a password with a slash",
        "address.unclear_login",
        entered_as(lambda url: url.replace("//", "//alice:hu/sh@")),
    ),
    Scenario(
        "the address is a single word",
        "address.word",
        entered_as(lambda url: "readback"),
    ),
    Scenario(
        "the address is an e-mail address",
        "address.email",
        entered_as(lambda url: "alice@echo.example"),
    ),
    Scenario(
        "the address is a file",
        "address.file",
        entered_as(lambda url: "C:\\readback.txt"),
    ),
    Scenario(
        "the address is the name of a variable",
        "address.placeholder",
        entered_as(lambda url: "$OPENAI_BASE_URL"),
    ),
    Scenario(
        "two addresses are given",
        "address.several",
        entered_as(lambda url: f"{url} https://echo.example/v1"),
    ),
    Scenario(
        "the address is a long text",
        "address.long",
        entered_as(lambda url: url + "/gateway" * 1000),
    ),
    Scenario(
        "the address is not valid text",
        "address.bytes",
        entered_as(lambda url: f"{url}\udce9"),
    ),
    Scenario(
        "the address is not an HTTP URL",
        "address.scheme",
        entered_as(lambda url: url.replace("http", "ftp")),
    ),
    Scenario(
        "the address has an invalid port",
        "address.port",
        entered_as(lambda url: "http://127.0.0.1:99999/v1"),
    ),
    Scenario(
        "the address has two different ports",
        "address.two_ports",
        entered_as(lambda url: url.replace("/v1", ":1/v1")),
    ),
    Scenario(
        "the address has an IPv6 address without brackets",
        "address.ipv6",
        entered_as(lambda url: "http://::1:8000/v1"),
    ),
    Scenario(
        "the address has no valid host name",
        "address.host",
        entered_as(lambda url: "http://echo..example/v1"),
    ),
    Scenario(
        "the address has the path of another service",
        "address.other_path",
        entered_as(lambda url: url.replace("/v1", "/api/v1")),
    ),
    Scenario(
        "a mail filter has replaced the address",
        "address.wrapped",
        entered_as(
            lambda url: (
                "https://eur01.safelinks.protection.outlook.com/?url="
                f"{quote(url, safe='')}&data=05%7C01&reserved=0"
            )
        ),
    ),
    Scenario("the port is that of the operations", "address.ops_port", at_ops_port),
    Scenario(
        "the address was made harmless by a security tool",
        "address.defanged",
        entered_as(lambda url: url.replace("http", "hxxp").replace(".", "[.]")),
    ),
)
