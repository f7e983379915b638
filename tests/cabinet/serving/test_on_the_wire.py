"""Headers and cookies of a public cabinet behind an HTTPS proxy."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.mailbox import Mailbox, mailbox

ALICE = "alice@example.org"
PASSWORD = "a lamp in the harbour"
HOST = "cabinet.example.org"
# Headers of a request that an HTTPS proxy forwards.
PROXIED = {
    "host": HOST,
    "x-forwarded-proto": "https",
    "x-forwarded-for": "203.0.113.5",
    "origin": f"https://{HOST}",
}


@pytest.fixture(scope="module")
def mails() -> Iterator[Mailbox]:
    with mailbox() as box:
        yield box


@pytest.fixture(scope="module")
def server(tmp_path_factory, mails) -> Iterator[CabinetServer]:
    settings = {
        "READBACK_CABINET_URL": f"https://{HOST}",
        "READBACK_TRUSTED_PROXY_COUNT": "1",
        "READBACK_SMTP_URL": mails.url,
    }
    with cabinet_server(tmp_path_factory.mktemp("public"), settings) as running:
        email = ("account", "create", ALICE, "--confirmed", "--password-stdin")
        running.run(*email, stdin=PASSWORD)
        yield running


@pytest.fixture
def browser(server) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=server.url, headers=PROXIED, timeout=60, verify=False
    ) as client:
        yield client


def send(browser: httpx.Client, path: str, **fields: str) -> httpx.Response:
    """Send the form of a page; keep Secure cookies, which httpx drops over HTTP."""
    page = browser.get(path)
    keep_cookies(browser, page)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
    response = browser.post(path, data={"csrfmiddlewaretoken": token, **fields})
    keep_cookies(browser, response)
    return response


def post(browser: httpx.Client, path: str, **fields: str) -> httpx.Response:
    """Send a form that is on another page."""
    page = browser.get("/account/").text
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
    response = browser.post(path, data={"csrfmiddlewaretoken": token, **fields})
    keep_cookies(browser, response)
    return response


def keep_cookies(browser: httpx.Client, response: httpx.Response) -> None:
    kept = dict(re.findall(r"([\w-]+)=([^;]+)", browser.headers.get("cookie", "")))
    for line in response.headers.get_list("set-cookie"):
        name, _, value = line.partition(";")[0].partition("=")
        kept[name] = value
    browser.headers["cookie"] = "; ".join(f"{k}={v}" for k, v in kept.items())


EXPECTED_STATUS = {
    "/": 200,
    "/accounts/login/": 200,
    "/accounts/signup/": 200,
    "/docs/": 200,
    "/keys/": 302,
    "/no-such-page": 404,
    "/accounts/password/reset/key/1-x/": 200,
    "/static/cabinet/cabinet.css": 200,
    "/static/no-such-file": 404,
    "/admin/": 302,
    "/healthz": 200,
    "/address.json": 200,
}


@pytest.mark.parametrize("path", EXPECTED_STATUS)
def test_every_response_has_security_headers(browser, path):
    response = browser.get(path)

    assert response.status_code == EXPECTED_STATUS[path]
    assert_protected(response)


def assert_protected(response: httpx.Response) -> None:
    policy = response.headers["content-security-policy"]
    for rule in (
        "default-src 'none'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    ):
        assert rule in policy
    assert "unsafe" not in policy
    hsts = re.search(r"max-age=(\d+)", response.headers["strict-transport-security"])
    assert int(hsts[1]) >= 31_536_000
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "same-origin"
    assert response.headers["cross-origin-opener-policy"] == "same-origin"
    assert response.headers["x-frame-options"] == "DENY"


def test_head_is_answered_as_get_without_a_body_and_not_logged(browser, server):
    for path in [*EXPECTED_STATUS, "/accounts/confirm-email/x/"]:
        head = browser.head(path)
        page = browser.get(path)
        assert (head.status_code, head.content) == (page.status_code, b"")
        kept = set(page.headers) - {"set-cookie", "transfer-encoding"}
        assert kept <= set(head.headers), path
        if "content-length" in page.headers:
            assert head.headers["content-length"] == page.headers["content-length"]

    assert "HEAD" not in server.stderr


def test_error_responses_have_security_headers(browser):
    forbidden = browser.post("/accounts/login/")
    assert forbidden.status_code == 403
    assert_protected(forbidden)
    wrong_host = browser.get("/", headers={"host": "evil.example"})
    assert wrong_host.status_code == 400
    assert_protected(wrong_host)
    large = browser.post("/accounts/login/", data={"login": "x" * 200_000})
    assert large.status_code in (400, 403)
    assert_protected(large)


def test_no_page_has_a_script_or_a_style_inline(browser):
    for path in EXPECTED_STATUS:
        page = browser.get(path).text
        # Data for a script is not executed.
        assert not re.search(r"<script(?![^>]*(?:\bsrc=|/json))", page), path
        assert not re.search(r"<style|\sstyle=|\son\w+=", page), path


def test_every_cookie_is_bound_to_this_host_and_to_https(browser):
    lines = []
    browser.event_hooks["response"] = [
        lambda response: lines.extend(response.headers.get_list("set-cookie"))
    ]
    send(browser, "/accounts/login/", login=ALICE, password=PASSWORD)
    created = send(browser, "/keys/", label="mine", lifetime="")
    keep_cookies(browser, browser.get(created.headers["location"]))
    # These leave a message for the next page; one message contains the e-mail address.
    send(browser, "/accounts/email/", email="alice2@example.org", action_add="")
    browser.post("/language/", data={"language": "ru"})
    post(browser, "/accounts/logout/")

    names = {line.partition("=")[0] for line in lines}
    assert names >= {"__Host-session", "__Host-csrf"}
    assert "__Host-language" in names
    for line in lines:
        assert line.startswith("__Host-"), line
        flags = {part.strip().lower() for part in line.split(";")[1:]}
        assert {"secure", "path=/"} <= flags, line
        assert flags & {"samesite=lax", "samesite=strict"}, line
        assert "httponly" in flags or "max-age=0" in flags, line
        assert not any(flag.startswith("domain") for flag in flags)
        assert len(line) < 4096
        assert "alice" not in line


def test_pages_of_an_account_are_not_cached(browser):
    send(browser, "/accounts/login/", login=ALICE, password=PASSWORD)

    for path in ("/keys/", "/account/", "/accounts/email/", "/"):
        response = browser.get(path)
        assert response.status_code == 200, path
        assert "no-store" in response.headers["cache-control"], path


def test_a_key_is_shown_once_and_never_logged(browser, server, mails):
    send(browser, "/accounts/login/", login=ALICE, password=PASSWORD)
    created = send(browser, "/keys/", label="mine", lifetime="")
    page = browser.get(created.headers["location"])
    keep_cookies(browser, page)
    key = re.search(r"sk-echo-[0-9A-Za-z]{38}", page.text)[0]

    assert "no-store" in page.headers["cache-control"]
    assert key not in browser.get(created.headers["location"]).text
    assert key not in browser.get("/keys/").text
    post(browser, created.headers["location"].replace("/new/", "/revoke/"))
    mails.wait_for(ALICE, "revoked")
    written = server.stderr + "".join(mail.as_string() for mail in mails.messages)
    assert "key_created" in written
    for secret in (key, key[8:40], PASSWORD):
        assert secret not in written


def test_on_loopback_cookies_have_plain_names(tmp_path):
    with cabinet_server(tmp_path, {}) as server:
        response = httpx.get(f"{server.url}/accounts/login/", verify=False)

    assert response.headers["set-cookie"].startswith("csrf=")
    assert "secure" not in response.headers["set-cookie"].lower()
    assert "strict-transport-security" not in response.headers
