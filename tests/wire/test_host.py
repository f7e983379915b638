"""Exactly one valid Host field (RFC 9112 §3.2, RFC 9110 §7.2)."""

import pytest

from tests.support.raw_requests import GOOD, ask, assert_closing_refusal, statuses
from tests.support.tables import words
from tests.support.wire import Endpoint

# CVE-2026-48710: x/abc?y=
BAD_HOSTS = [
    *words(r"""
        a@b user:pass@host x/abc /x x/abc?y= x?y x#y #x a,b a,a ,a a, [::1 ::1] [] [x]
        [::1]x [::1]:x :80 : a:b a:80:80 a:-1 a:+1 a:80x a:999999 <x> "x" a\b a|b a^b
        http://x x` {x} [::1]:80:80 [[::1]]
    """),
    *["", " ", "a b", "a\tb", "a b:80", "a :80", "\xe4"],
]
GOOD_HOSTS = words("""
    x X localhost LOCALHOST:80 api.example.org api.example.org. a_b a-b 1.2.3.4
    1.2.3.4:65535 [::1] [::1]:80 [::ffff:1.2.3.4] x: %41 a~b xn--e1afmkfd.xn--p1ai
    a!$&'()*+;=b
""")


def with_hosts(*hosts: bytes, line: bytes = b"GET / HTTP/1.1") -> bytes:
    return b"\r\n".join([line, *hosts, b"", b""])


@pytest.mark.parametrize("host", BAD_HOSTS, ids=repr)
def test_an_invalid_host_is_refused(echo: Endpoint, host: str) -> None:
    for line in (b"GET / HTTP/1.1", b"GET / HTTP/1.0"):
        raw = with_hosts(b"Host: " + host.encode("latin-1"), line=line)
        assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_any_valid_host_is_accepted(echo: Endpoint, host: str) -> None:
    assert statuses(ask(echo, with_hosts(b"Host: " + host.encode()))) == [200]


@pytest.mark.parametrize(
    "hosts",
    [
        (b"Host: a", b"Host: a"),
        (b"Host: a", b"Host: b"),
        (b"Host: a", b"hOST: a"),
        (b"Host: a", b"X: y", b"Host: a"),
        (b"Host: a", b"Host:"),
        (b"Host: a", b" Host: b"),
    ],
)
@pytest.mark.parametrize("line", [b"GET / HTTP/1.1", b"GET / HTTP/1.0"])
def test_two_hosts_are_refused(
    echo: Endpoint, hosts: tuple[bytes, ...], line: bytes
) -> None:
    # CVE-2026-34525.
    raw = with_hosts(*hosts, line=line)
    assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


@pytest.mark.parametrize("target", [b"/", b"*", b"http://x/"])
def test_http_1_1_without_a_host_is_refused(echo: Endpoint, target: bytes) -> None:
    # RFC 9112 §3.2: even if the target contains one.
    raw = with_hosts(line=b"OPTIONS %b HTTP/1.1" % target)
    assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


def test_http_1_0_without_a_host_is_accepted(echo: Endpoint) -> None:
    assert statuses(ask(echo, with_hosts(line=b"GET / HTTP/1.0"))) == [200]
