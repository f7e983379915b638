"""What the fuzzer takes for too much work is counted as the process would do it."""

import pytest

from readback.contract import MAX_BODY_BYTES
from tests.fuzz import work
from tests.worst_cases import counting
from tests.worst_cases.api import BODIES, MOST_PER_REQUEST, request


@pytest.mark.long  # it starts valgrind, and only `make fuzz` counts so
def test_a_request_with_an_accepted_key_is_counted_in_full() -> None:
    if reason := counting.why_not():
        pytest.skip(reason)
    small = work.count(request(b"{}"))
    large = work.count(request(BODIES["numbers"](MAX_BODY_BYTES)))

    # A request that is refused for its key takes the same work with any body.
    assert 4 * small < large <= MOST_PER_REQUEST
