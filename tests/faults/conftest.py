"""Nothing but what pytest must know before the helpers are imported."""

import pytest

pytest.register_assert_rewrite("tests.conformance.dialogue", "tests.wire.talk")
