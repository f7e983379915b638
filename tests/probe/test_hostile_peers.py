"""No peer can make the probe crash, hang, use much memory or print escape sequences."""

import json
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from readback.contract import REFUSALS
from readback.probe.entered.key import Secret
from readback.probe.report import ProbeReport
from readback.probe.runner import STEPS, ProbeRun
from readback.probe.transport import exchanges
from readback.probe.transport.context import ProbeContext
from tests.probe.forms import FORMS, REPORT_SCHEMA
from tests.probe.hostile_peers import ESCAPES, HOSTILE_PEERS, JSON, answer, hostile_peer
from tests.probe.setups import Resources
from tests.support.server import Server

# Short, because the probe reads for several timeouts from peers that send endlessly.
TIMEOUT = 0.2
# For peers that close the connection, which may take long on a busy machine.
PATIENT = 60.0
# A run waits for at most a few timeouts; the rest is for a slow machine.
MAX_SECONDS = 60
MAX_BYTES = 32 << 20
Forms = dict[str, Callable[[ProbeReport], str]]
FEW = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(autouse=True)
def _few_certificates(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load few certificates, to save time in each of the many runs."""
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))


def probed(
    port: int, key: str, chat: str | None = None, timeout: float = PATIENT
) -> ProbeReport:
    url = f"http://127.0.0.1:{port}/v1"
    context = ProbeContext(url, Secret(key), timeout, chat_model=chat)
    return ProbeRun(context).run(STEPS)


def assert_sound(report: ProbeReport, forms: Forms = FORMS) -> None:
    """Check that no step ended unexpectedly and that the report can be shown."""
    sentences = [result.diagnosis.sentence for result in report.results]
    assert "probe.unexpected" not in {
        result.diagnosis.id for result in report.results
    }, sentences
    for form in forms.values():
        assert form(report).replace("\n", "").isprintable()
    REPORT_SCHEMA.validate(json.loads(forms["json"](report)))


def test_an_answer_is_parsed_once(
    readback: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[bytes] = []
    real = exchanges.parse_json
    monkeypatch.setattr(
        exchanges, "parse_json", lambda body: parsed.append(body) or real(body)
    )
    requests: list[bytes] = []

    def respond(request: bytes) -> list[bytes]:
        requests.append(request)
        return answer(b'{"error":{"code":"%d"}}' % len(requests), JSON)

    with hostile_peer(respond) as port:
        probed(port, readback.api_key)

    assert 0 < len(parsed) <= len(requests)
    assert len(set(parsed)) == len(parsed)


@contextmanager
def memory_traced() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("send", HOSTILE_PEERS.values(), ids=HOSTILE_PEERS)
def test_a_hostile_peer_gets_a_diagnosis(send, readback: Server) -> None:
    is_endless = not isinstance(send(), list)
    timeout = TIMEOUT if is_endless else PATIENT
    started = time.monotonic()
    with hostile_peer(lambda _: send()) as port, memory_traced() as peak:
        report = probed(port, readback.api_key, timeout=timeout)
        assert peak() < MAX_BYTES
    assert time.monotonic() - started < MAX_SECONDS
    assert_sound(report, FORMS)
    # On a busy machine, a peer may miss a short timeout once and respond the next time.
    allowed = ("http.", "sometimes.") if is_endless else "http."
    assert report.id.startswith(allowed)
    assert report.key_sent_to is None


@FEW
@given(data=st.binary(max_size=200))
@example(data=b"HTTP/1.1 200\r\n\x0c\r\n")
@example(data=b"HTTP/1.1 200 OK\r\n\x85: \x1c\r\nA:\r\n \xff\r\n\r\n{}")
def test_any_bytes_get_a_diagnosis(data: bytes, readback: Server) -> None:
    with hostile_peer(lambda _: [data]) as port:
        assert_sound(probed(port, readback.api_key))


WORDS = st.sampled_from(
    [
        "data", "id", "object", "model", "choices", "message", "content", "role",
        "chat.completion", "assistant", "error", "code", "usage", "delta", "owned_by",
        "total_tokens", ESCAPES.decode("latin-1"), "\ud800", "sk-proj-abcdef0123456789",
    ]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4)
    ),
    max_leaves=12,
)
COMPLETION = {"choices": [{"message": {"content": None, "role": 1}, "index": "x"}]}


def refusal(code: str, *fields: bytes) -> list[bytes]:
    row = REFUSALS[code]
    body = json.dumps({"error": {"code": code}}).encode()
    return answer(body, JSON, *fields, status=b"%d No" % row.status)


def impostor(request: bytes, content: object, of_readback: bool) -> Iterable[bytes]:
    """Respond like a service until the key arrives, then with this content."""
    if b"\r\nAuthorization: " in request:
        return answer(json.dumps(content).encode(), JSON)
    if b"/models" in request or not of_readback:
        return refusal("invalid_key", b"X-Error-Detail: " + ESCAPES)
    return refusal("not_found", b"Link: <http://[/docs/errors>; rel=help")


@FEW
@given(content=VALUES, of_readback=st.booleans())
@example(content=COMPLETION, of_readback=True)
@example(content={"data": [{"id": [], "owned_by": {}}]}, of_readback=False)
@example(content={"data": [{"id": ESCAPES.decode("latin-1")}]}, of_readback=False)
@example(content=COMPLETION | {"data": [{"id": "x"}], "usage": 1}, of_readback=False)
def test_any_content_gets_a_diagnosis(
    content: object, of_readback: bool, readback: Server
) -> None:
    key = readback.api_key if of_readback else "key-of-another-service"
    with hostile_peer(lambda request: impostor(request, content, of_readback)) as port:
        assert_sound(probed(port, key, chat=None if of_readback else "x"))
