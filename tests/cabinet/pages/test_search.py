"""The search of the documentation finds what people paste and type."""
# ruff: noqa: E501 (messages as programs print them)

import re
from urllib.parse import urlencode

import pytest

from tests.cabinet.visitor import Visitor, text_of

DATABASES = ["sqlite"]

pytestmark = pytest.mark.usefixtures("database")

# What programs print, as they print it, and the places that explain it.
PASTED = {
    "openai.AuthenticationError: Error code: 401 - {'error': {'code': 'invalid_key'}}": (
        "errors#invalid_key"
    ),
    "openai.BadRequestError: Error code: 400 - {'error': {'code': 'unknown_field'}}": (
        "connect#"
    ),
    "openai.APIConnectionError: Connection error.": "connect#",
    "openai.APITimeoutError: Request timed out.": "findings#tcpblocked",
    "openai.RateLimitError: Error code: 429": "errors#rate_limited",
    "openai.OpenAIError: Missing credentials. Please pass an `api_key`, or set the "
    "`OPENAI_API_KEY` environment variable.": "connect",
    "openai.NotFoundError: Error code: 404 - The model `gpt-4o` does not exist or you "
    "do not have access to it.": "errors#",
    "curl: (6) Could not resolve host: api.exmaple.com": "findings#dnsunknown",
    "curl: (7) Failed to connect to localhost port 8000 after 0 ms: Couldn't connect to "
    "server": "findings#tcprefused",
    "curl: (28) Connection timed out after 10001 milliseconds": "findings#tcpblocked",
    "curl: (35) error:0A00010B:SSL routines::wrong version number": (
        "findings#tlsplain_http"
    ),
    "curl: (52) Empty reply from server": "findings#",
    "curl: (56) Recv failure: Connection reset by peer": "probe#",
    "curl: (56) CONNECT tunnel failed, response 407": "findings#proxylogin",
    "curl: (60) SSL certificate problem: unable to get local issuer certificate": (
        "findings#tlsuntrusted"
    ),
    "curl: (60) SSL: no alternative certificate subject name matches target host name": (
        "findings#tlswrong_name"
    ),
    "requests.exceptions.SSLError: HTTPSConnectionPool(host='10.0.0.5', port=443): Max "
    "retries exceeded with url: /v1/models (Caused by SSLError(SSLCertVerificationError("
    "1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed "
    "certificate in certificate chain (_ssl.c:1006)')))": "findings#tlsuntrusted",
    "requests.exceptions.ConnectionError: ('Connection aborted.', "
    "RemoteDisconnected('Remote end closed connection without response'))": "probe#",
    "requests.exceptions.ReadTimeout: HTTPConnectionPool(host='127.0.0.1', port=8000): "
    "Read timed out. (read timeout=5)": "findings#",
    "requests.exceptions.JSONDecodeError: Expecting value: line 1 column 1 (char 0)": (
        "findings#"
    ),
    "requests.exceptions.InvalidHeader: Invalid leading whitespace, reserved "
    "character(s), or return character(s) in header value: 'Bearer sk-echo\\n'": (
        "connect#"
    ),
    "requests.exceptions.MissingSchema: Invalid URL 'localhost:8000/v1/models': No "
    "scheme supplied.": "connect",
    "httpx.ConnectError: [Errno 111] Connection refused": "findings#tcprefused",
    "httpx.UnsupportedProtocol: Request URL is missing an 'http://' or 'https://' "
    "protocol.": "connect",
    "httpx.LocalProtocolError: Illegal header value b'Bearer '": ("connect#"),
    "ImportError: Using SOCKS proxy, but the 'socksio' package is not installed.": (
        "probe#"
    ),
    "httpx.RemoteProtocolError: Server disconnected without sending a response.": (
        "probe#"
    ),
    "UnicodeEncodeError: 'ascii' codec can't encode character '\\u2026' in position 12": (
        "connect#"
    ),
    "TypeError: fetch failed\n  cause: Error: connect ECONNREFUSED 127.0.0.1:8000": (
        "findings#tcprefused"
    ),
    "TypeError: fetch failed\n    at node:internal/deps/undici/undici:13185:13": "probe",
    "Error: getaddrinfo ENOTFOUND api.exmaple.com": "findings#dnsunknown",
    "Error: self signed certificate in certificate chain code: SELF_SIGNED_CERT_IN_CHAIN": (
        "findings#tlsuntrusted"
    ),
    "AxiosError: Request failed with status code 404": "errors#not_found",
    "SyntaxError: Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON": "findings#",
    "litellm.BadRequestError: LLM Provider NOT provided. Pass in the LLM provider": (
        "programs"
    ),
    "Access to fetch at 'https://x/v1/models' from origin 'http://localhost:3000' has "
    "been blocked by CORS policy": "connect#",
    "dial tcp: lookup api.exmaple.com on 127.0.0.11:53: no such host": (
        "findings#dnsunknown"
    ),
    "tls: failed to verify certificate: x509: certificate signed by unknown authority": (
        "findings#tlsuntrusted"
    ),
    "javax.net.ssl.SSLHandshakeException: PKIX path building failed: unable to find "
    "valid certification path to requested target": "findings#tlsuntrusted",
    "http: server gave HTTP response to HTTPS client": "findings#tlsplain_http",
    "OSError('Tunnel connection failed: 403 Forbidden')": "findings#proxycannot_connect",
    "502 Bad Gateway nginx/1.22.1": "findings#httpgateway",
    # A program that ignores the base URL shows what OpenAI answers.
    "Error code: 401 - {'error': {'message': 'Incorrect API key provided: sk-echo. You "
    "can find your API key at https://platform.openai.com/account/api-keys.'": (
        "connect#"
    ),
    # Nor does the contract have what validators of other services name.
    "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': "
    "'Extra inputs are not permitted'}]": "errors#unknown_field",
    "400 Invalid tool_choice type: 'object'. Supported string values: none, auto": (
        "errors#unknown_field"
    ),
    "Conversation roles must alternate user/assistant/user": "errors#invalid_messages",
    "messages[0].content: invalid type: sequence, expected a string at line 5": (
        "errors#invalid_content"
    ),
    'AI_TypeValidationError: Type validation failed: "path":["choices"]': "findings#",
    "This may mean that you forgot to add '/v1' to the end of your 'apiBase'": "errors#",
    'net/http: invalid header field value for "Authorization"': "connect#",
    # A status is written in many ways.
    "com.openai.errors.NotFoundException: 404: null": "errors#not_found",
    "NovitaAI error: (HTTP/2 404) Could not parse HTTP response.": "errors#not_found",
    "OpenAI: Service request failed.\n Status: 401 (Unauthorized)": "errors#invalid_key",
    "curl: (22) The requested URL returned error: 429": "errors#rate_limited",
}
# What people type, in both languages.
TYPED = {
    "en": {
        "no e-mail arrives": "runbook#",
        "certificate expired": "findings#tls",
        "how do I revoke a key": "cabinet#",
        "rate limit": "contract#",
        "behind a corporate proxy": "findings#proxy",
        "backup": "backup",
        "lost my second factor": "operations#",
        "killed worker loses usage": "reliability#what-a-kill-may-lose",
    },
    "ru": {
        "не приходит письмо": "runbook#",
        "истёк сертификат": "findings#tls",
        "отозвать ключ": "cabinet",
        "ограничение запросов": "contract#",
        "через прокси": "findings#proxy",
        "потерял второй фактор": "operations#",
    },
}


def found(query: str, language: str = "en") -> list[str]:
    """Return the places of the first results."""
    page = text_of(Visitor(language).get("/docs/?" + urlencode({"q": query})))
    return re.findall(r'<li><a href="/docs/([^"]+)"', page)[:3]


@pytest.mark.parametrize("language", TYPED)
def test_what_people_paste_and_type_leads_to_what_it_means(language: str):
    queries = PASTED | TYPED[language]
    missed = {query: found(query, language) for query in queries}
    assert [
        f"{query[:70]!r} should lead to {queries[query]}: {places}"
        for query, places in missed.items()
        if not any(place.startswith(queries[query]) for place in places)
    ] == []


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize(
    "query, place",
    [
        ("READBACK_KEY_RATE", "settings#readback_key_rate"),
        ("tls.wrong_name", "findings#tlswrong_name"),
        ("http.gateway", "findings#httpgateway"),
        ("content_too_large", "errors#content_too_large"),
        ("single sign-on", "single-sign-on"),
    ],
)
def test_a_name_leads_to_the_place_that_explains_it(query, place, language):
    assert found(query, language)[0].startswith(place)


@pytest.mark.parametrize("query, place", [
    # A program has its own words between those of the message …
    ("Connect to http://localhost:8000 [localhost/127.0.0.1] failed: Connection was "
     "refused by the target", "findings#tcprefused"),
    ("SslCertVerificationError: cert verify has failed", "findings#tlsuntrusted"),
    # … but another number makes it another message.
    ("Error code: 429", "errors#rate_limited"),
    # Question words are ignored.
    ("как отозвать ключ", "cabinet"),
    ("how can I revoke my key?", "cabinet#"),
])  # fmt: skip
def test_the_words_of_a_message_count_wherever_they_are(query: str, place: str):
    language = "en" if query.isascii() else "ru"
    assert any(each.startswith(place) for each in found(query, language))


def test_a_certain_answer_stands_alone():
    assert found("Connection refused") == ["findings#tcprefused"]


def test_the_end_of_a_long_message_counts_too():
    traceback = '  File "/srv/app/main.py", line 12, in <module>\n' * 35
    message = f"{traceback}httpx.ConnectError: [Errno 111] Connection refused"

    assert 1500 < len(message) < 2000
    assert found(message)[0] == "findings#tcprefused"


def test_the_result_shows_the_whole_sentence_that_answers():
    page = text_of(Visitor().get("/docs/?q=killed+worker+loses+usage"))

    assert "A stop, a reload or a restart with SIGTERM loses none of this." in page or (
        "A worker that is killed, by SIGKILL or by the system when memory runs out"
        in page
    )


def test_a_search_without_results_offers_the_probe_and_shows_the_words_as_text():
    query = urlencode({"q": "<b>zzzz</b> " + "x" * 500})
    page = text_of(Visitor().get(f"/docs/?{query}"))

    assert "Nothing found" in page
    assert 'href="/docs/probe"' in page and 'href="/docs/symptoms"' in page
    assert "<b>zzzz" not in page


def test_a_heading_without_a_text_is_no_result_and_a_comment_is_no_heading():
    assert "findings#key" not in found("401 invalid_key Incorrect API key")
    assert found("schemathesis 405")[0] == "testing#openapi"


def test_the_markup_of_a_page_is_not_shown():
    page = text_of(Visitor().get("/docs/?q=nothing+is+listening"))

    assert "\\" not in page
