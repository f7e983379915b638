"""Answers to requests that arrive together are written together."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.streams import RecordingTransport
from tests.support.work import ManualLoop

from readback.http.flow_control import WRITTEN_TOGETHER, FlowControl, PendingAnswers


class Broken(RecordingTransport):
    def write(self, data: Any) -> None:
        raise OSError("no such wire")


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
    alice, bob = RecordingTransport(), RecordingTransport()
    pending.add(alice, b"1")
    pending.add(bob, b"2")
    pending.add(alice, b"3")
    assert not alice.written
    assert not bob.written
    loop.run_callbacks()
    assert (alice.written, bob.written) == (b"13", b"2")


def test_no_answer_waits_for_more_than_a_few_others(pending: PendingAnswers) -> None:
    alice = RecordingTransport()
    for number in range(1, 3 * WRITTEN_TOGETHER):
        pending.add(alice, b"x")
        assert number - len(alice.written) < WRITTEN_TOGETHER


def test_a_connection_that_has_ended_meanwhile_gets_nothing(
    pending: PendingAnswers, loop: ManualLoop
) -> None:
    mallory, alice = RecordingTransport(), RecordingTransport()
    pending.add(mallory, b"x")
    pending.add(alice, b"x")
    mallory.abort()
    loop.run_callbacks()
    assert (mallory.written, alice.written) == (b"", b"x")


def test_a_write_that_fails_does_not_keep_other_answers_from_their_clients(
    pending: PendingAnswers, loop: ManualLoop
) -> None:
    alice = RecordingTransport()
    pending.add(Broken(), b"x")
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
