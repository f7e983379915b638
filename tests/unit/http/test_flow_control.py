"""Answers to requests that arrive together are written together."""

from collections.abc import Iterator

import pytest
from tests.support.streams import RecordingTransport
from tests.support.work import ManualLoop

from readback.http.flow_control import WRITTEN_TOGETHER, FlowControl, PendingAnswers


@pytest.fixture
def loop() -> Iterator[ManualLoop]:
    with ManualLoop() as loop:
        yield loop


@pytest.fixture
def pending(loop: ManualLoop) -> PendingAnswers:
    return PendingAnswers()


def test_an_answer_is_written_after_the_round_that_read_its_request(
    pending: PendingAnswers, loop: ManualLoop
) -> None:
    alice, mallory, bob = (RecordingTransport() for _ in range(3))
    for transport, answer in (
        (alice, b"1"),
        (mallory, b"x"),
        (bob, b"2"),
        (alice, b"3"),
    ):
        pending.add(transport, answer)
    mallory.abort()  # a connection that has ended meanwhile gets nothing
    assert not alice.written + bob.written
    loop.run_callbacks()
    assert (alice.written, mallory.written, bob.written) == (b"13", b"", b"2")


def test_no_answer_waits_for_more_than_a_few_others(pending: PendingAnswers) -> None:
    alice = RecordingTransport()
    for number in range(1, 3 * WRITTEN_TOGETHER):
        pending.add(alice, b"x")
        assert number - len(alice.written) < WRITTEN_TOGETHER


def test_a_write_that_fails_does_not_keep_other_answers_from_their_clients(
    pending: PendingAnswers, loop: ManualLoop
) -> None:
    def fail(data: bytes) -> None:
        raise OSError("no such wire")

    broken, alice = RecordingTransport(), RecordingTransport()
    broken.write = fail
    pending.add(broken, b"x")
    pending.add(alice, b"x")
    with pytest.raises(OSError, match="no such wire"):
        loop.run_callbacks()
    loop.run_callbacks()
    assert alice.written == b"x"


@pytest.mark.parametrize("half", [True, False], ids=["our side", "both sides"])
def test_an_answer_is_written_before_its_connection_is_closed(
    pending: PendingAnswers, half: bool
) -> None:
    alice = RecordingTransport()
    flow = FlowControl(alice, pending)
    pending.add(alice, b"x")
    assert flow.close_for_writing() if half else not flow.close(0.0, 0.0)
    assert alice.written == b"x"
