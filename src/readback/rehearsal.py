"""Patterns of rehearsal keys: their steps, and how a pattern is written.

The answers to a rehearsal key follow its pattern, so that people can see how their
program handles a failure. What a step does to a request is decided in the API.
"""

import re

# The contract's code for the failure that each step causes.
FAILURES = {"429": "rate_limited", "500": "internal_error", "503": "unavailable"}
# The normal answer.
OK = "ok"
MAX_STEPS = 20
LONGEST_WAIT_SECONDS = 30
# The Retry-After of a rehearsed 429 or 503.
RETRY_SECONDS = 1
# Metrics, usage and the journal contain this instead of a rehearsed failure's code.
REHEARSED = "rehearsed"
# Long enough for "wait30" twenty times.
MAX_PATTERN_LENGTH = MAX_STEPS * 7 - 1

_WAIT = re.compile("wait([1-9][0-9]?)")
_RULE = (
    f"A pattern has 1 to {MAX_STEPS} steps with spaces between them, such as "
    f"'429 429 ok'. A step is {OK}, {', '.join(FAILURES)}, or wait1 to "
    f"wait{LONGEST_WAIT_SECONDS}."
)


def checked_pattern(pattern: str) -> str:
    """Return a pattern as it is stored; raise ValueError if it breaks the rule."""
    steps = pattern.split()
    if not 1 <= len(steps) <= MAX_STEPS or not all(map(_is_step, steps)):
        raise ValueError(_RULE)
    return " ".join(steps)


def wait_seconds(step: str) -> int:
    """Return how long a step delays the normal answer; 0 if it does not."""
    found = _WAIT.fullmatch(step)
    return int(found[1]) if found else 0


def _is_step(step: str) -> bool:
    is_wait = 0 < wait_seconds(step) <= LONGEST_WAIT_SECONDS
    return is_wait or step == OK or step in FAILURES
