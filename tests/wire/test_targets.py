"""The four forms of a target (RFC 9112 §3.2), and one valid Host (RFC 9110 §7.2)."""

import pytest

from tests.support.api import Api, assert_refused, assert_success
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    post_body,
    statuses,
)
from tests.support.server import Server
from tests.support.tables import words
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

# RFC 9112 §3.2.3 and §3.2.4: some of these forms are only for CONNECT and OPTIONS; a
# path begins with a slash.
BAD_TARGETS = [
    *words("""
        * x x/y ?x #x . .. ../x x:80 [::1]:80 127.0.0.1:80 ftp://x/ ws://x/ file:///x
        javascript:x http:x http:/x http:// http:///x http://a@b/ http://a,b/
        http://x/#y http://[::1/ http://:80/ https://u:p@x/
    """),
    *["/ы", "/\udcff", "/\udc80", "/\x7f", "/\0", "/\x01", "/\x1b[31m", "/a\x0bb"],
]


def with_hosts(*hosts: bytes, line: bytes = b"GET / HTTP/1.1") -> bytes:
    return b"\r\n".join([line, *hosts, b"", b""])


@pytest.mark.parametrize("target", BAD_TARGETS, ids=repr)
def test_an_invalid_target_is_refused(echo: Endpoint, target: str) -> None:
    written = target.encode("utf-8", "surrogateescape")
    raw = with_hosts(b"Host: x", line=b"GET %b HTTP/1.1" % written)
    assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


def test_the_refusal_of_a_target_says_what_a_target_is(api: Api) -> None:
    for target in ("v1/models", "localhost:8000/v1", "?a", "/v1/mod\u00e9ls"):
        raw = with_hosts(b"Host: x", line=f"GET {target} HTTP/1.1".encode())
        detail = assert_refused(api.send(raw), "malformed_request")
        assert detail.startswith("The target of the request line must be a path that ")


def test_an_absolute_target_is_routed_by_its_path(echo: Endpoint, api: Api) -> None:
    # RFC 9112 §3.2.2: its authority replaces the value of Host.
    for target in words("""
        http://x/ http://x http://x:80/a?b HTTP://X/ https://x/ http://[::1]:80/
        http://other.example/
    """):
        raw = with_hosts(b"Host: x", line=f"GET {target} HTTP/1.1".encode())
        assert statuses(ask(echo, raw, GOOD)) == [200, 200]
    origin = f"http://{api.endpoint.authority}"
    assert_success(api.ask("GET", f"{origin}/v1/models"))
    assert_success(api.ask("GET", "https://anywhere.example/v1/models"))
    assert_refused(api.ask("GET", f"{origin}/v1/models?x"), "not_found")
    assert_refused(api.ask("GET", origin), "not_found")


@pytest.mark.parametrize("target", [b"x:80", b"x", b"*", b"/v1/models", b"[::1]:443"])
def test_connect_opens_no_tunnel(api: Api, target: bytes) -> None:
    upgrade = (b"Connection: Upgrade", b"Upgrade: h2c")
    for sent in (post_body(b""), post_body(b"ab"), post_body(b"ab", *upgrade)):
        raw = sent.replace(b"POST /", b"CONNECT " + target, 1)
        [answer] = ask(api.endpoint, raw + GOOD)
        assert_refused(answer, "not_found")
        assert answer.header("Connection") == "close"


def test_the_difference_of_a_wrong_path_is_in_the_journal(server: Server) -> None:
    api = Api.of(server).with_key(server.new_key())
    wrong = {"/v1/responses": "/responses", "/models/models": "base_url", "/zebra": ""}
    for path in wrong:
        assert_refused(api.ask("POST", path), "not_found")

    def stored() -> set[str]:
        rows = server.database.journal(api.key, "differences")
        return {differences for (differences,) in rows}

    wait_until(lambda: stored() == set(wrong.values()), lambda: f"stored: {stored()}")


# x/abc?y= is the Host of CVE-2026-48710.
BAD_HOSTS = [
    *words(r"""
        a@b x/abc?y= x?y x#y a,b [::1 ::1] [] [x] [::1]x [::1]:x :80 : a:b a:80:80 a:-1
        a:999999 <x> "x" a\b http://x
    """),
    *["", "a b", "a\tb", "a :80", "\xe4"],
]
GOOD_HOSTS = words("""
    x LOCALHOST:80 api.example.org. a_b 1.2.3.4:65535 [::1] [::ffff:1.2.3.4]:80 x: %41
    xn--e1afmkfd.xn--p1ai a!$&'()*+;=b~
""")


@pytest.mark.parametrize(
    "hosts",
    [
        *([b"Host: " + host.encode("latin-1")] for host in BAD_HOSTS),
        # CVE-2026-34525: aiohttp accepted two Host fields.
        *([b"Host: a", second] for second in (b"Host: a", b"hOST: a", b" Host: b")),
    ],
    ids=repr,
)
def test_two_hosts_or_an_invalid_one_are_refused(
    echo: Endpoint, hosts: list[bytes]
) -> None:
    for line in (b"GET / HTTP/1.1", b"GET / HTTP/1.0"):
        raw = with_hosts(*hosts, line=line)
        assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_any_valid_host_is_accepted(echo: Endpoint, host: str) -> None:
    assert statuses(ask(echo, with_hosts(b"Host: " + host.encode()))) == [200]


def test_only_http_1_0_may_omit_the_host(echo: Endpoint) -> None:
    assert statuses(ask(echo, with_hosts(line=b"GET / HTTP/1.0"))) == [200]
    # RFC 9112 §3.2: Host is required even if the target contains a host.
    for target in (b"/", b"*", b"http://x/"):
        raw = with_hosts(line=b"OPTIONS %b HTTP/1.1" % target)
        assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")
