"""Asks as other programs would: firewalls and bot protections go by the headers.

`asking_again` adds to a step: if something else than the service responds, the request
is repeated as other programs would send it. The steps "User-Agent" and "Expect" are the
other way round: the probe gets through, and others may not. They ask for an unknown
path, which every service can refuse without a key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Union

from readback.probe.common.background import BackgroundCall
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service.answers import parse_refusal
from readback.probe.transport.context import UNKNOWN, ProbeContext

Check = Callable[[ProbeContext], Union[Diagnosis, list[Diagnosis]]]
# What is in between may leave a program waiting; a patient request then tells.
_BRIEFLY = 3.0
_EXPECT = {"Expect": "100-continue"}
_EXPECT_BODY = b"{}"


@dataclass(frozen=True, eq=False)
class UserAgent:
    """A program and the headers by which it is known."""

    name: str
    headers: Mapping[str, str]


OWN = UserAgent("this program", {})
OPENAI = UserAgent(
    "the openai package",
    {
        "User-Agent": "OpenAI/Python 3.49.0",
        "X-Stainless-Lang": "python",
        "X-Stainless-Package-Version": "3.49.0",
        "X-Stainless-OS": "Linux",
        "X-Stainless-Arch": "x64",
        "X-Stainless-Runtime": "CPython",
        "X-Stainless-Runtime-Version": "3.12.1",
        "X-Stainless-Async": "false",
        "X-Stainless-Retry-Count": "0",
    },
)
CURL = UserAgent("curl", {"User-Agent": "curl/8.14.1", "Accept": "*/*"})
BROWSER = UserAgent(
    "a browser",
    {
        "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 "
        "(KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language": "en-US,en;q=0.9",
    },
)
OTHERS = (OPENAI, CURL, BROWSER)

# The results that a block by User-Agent can have.
_DOUBTFUL = {
    "between.blocked",
    "between.challenge",
    "between.other_response",
    "between.rate_limited",
    "http.cut",
    "http.cut_short",
    "http.gateway",
    "http.html",
    "http.other",
    "http.other_api",
    "http.proxy_page",
    "http.redirect",
    "key.other_refusal",
}


def asking_again(check: Check) -> Check:
    """Return the step that also asks as other programs if it has a doubtful result."""

    def ask(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
        try:
            return check(context)
        except ProbeError as error:
            if error.id not in _DOUBTFUL or context.identity:
                raise
            doubtful = error
        results = {program: _result(context, check, program) for program in OTHERS}
        passed = [program for program in OTHERS if results[program]]
        if not passed and "tried" in doubtful.facts:
            tried = f" Asking as {_listed(OTHERS)} makes no difference."
            raise ProbeError(doubtful.id, **{**doubtful.facts, "tried": tried})
        if not passed:
            raise doubtful
        context.identity.update(passed[0].headers)
        blocked = [OWN, *(program for program in OTHERS if program not in passed)]
        status = doubtful.facts.get("status")
        how = f"status {status}" if status else "a closed connection"
        return [_blocked(blocked, passed, how), *results[passed[0]]]

    return ask


def check_agents(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    """Ask for an unknown path, without the key, as other programs would."""
    if context.identity:
        return []  # An earlier step has asked already.
    passing = diagnose("between.programs_pass", programs=_listed(OTHERS))
    answers = _foreign_answers(context, OTHERS)
    if not answers:
        return passing
    # Once may be chance, or a limit of the rate: ask again, between two own requests.
    if _foreign_answers(context, [OWN], is_patient=True):
        return []
    answers = _foreign_answers(context, list(answers), is_patient=True)
    if not answers:
        return passing
    if _foreign_answers(context, [OWN], is_patient=True):
        return []
    blocked = list(answers)
    passed = [OWN, *(program for program in OTHERS if program not in blocked)]
    return _blocked(blocked, passed, answers[blocked[0]])


def _foreign_answers(
    context: ProbeContext, programs: Sequence[UserAgent], *, is_patient: bool = False
) -> dict[UserAgent, str]:
    """Ask as these programs, side by side; return the answers not of the service."""
    ask = partial(_foreign_answer, context, is_patient=is_patient)
    calls = [BackgroundCall(partial(ask, program.headers)) for program in programs]
    answers = zip(programs, [call.result() for call in calls])
    return {program: answer for program, answer in answers if answer}


def _result(context: ProbeContext, check: Check, program: UserAgent) -> list[Diagnosis]:
    """Return the results of the step for this program; none if it fails, too."""
    context.close()  # What blocks one request may block its connection.
    context.identity.update(program.headers)
    try:
        found = check(context)
    except ProbeError:
        return []
    finally:
        context.identity.clear()
    return found if isinstance(found, list) else [found]


def _blocked(
    blocked: Sequence[UserAgent], passed: Sequence[UserAgent], how: str
) -> Diagnosis:
    id = "between.program_blocked"
    if OPENAI in blocked:
        id = "between.openai_blocked"
    elif OWN in blocked:
        id = "between.probe_blocked"
    return diagnose(
        id,
        blocked=_listed(blocked),
        passed=_listed(passed),
        used=passed[0].name,
        how=how,
    )


def _listed(programs: Sequence[UserAgent]) -> str:
    *first, last = (program.name for program in programs)
    return f"{', '.join(first)} and {last}" if first else last


def _foreign_answer(
    context: ProbeContext,
    headers: Mapping[str, str],
    body: bytes | None = None,
    identity: Mapping[str, str] | None = None,
    *,
    is_patient: bool = False,
) -> str:
    """Return how the request is answered if not by the service, else nothing.

    On a busy machine the service may be late; only a patient request tells for sure.
    """
    path = f"{context.base_url.path}{UNKNOWN}"
    method = "GET" if body is None else "POST"
    patience = None if is_patient else _BRIEFLY
    try:
        with context.new_client(patience=patience, identity=identity) as client:
            response = client.request(method, path, body=body, headers=headers)
    except ProbeError as error:
        if error.id == "skipped.budget":
            raise
        late = error.id in ("http.silent", "http.stalled")
        return "no response" if late else "a closed connection"
    return "" if parse_refusal(response) else f"status {response.status}"


def check_expect(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    # A step beside this one may go on as another program; all requests are of one.
    identity = dict(context.identity)
    if not _foreign_answer(context, _EXPECT, _EXPECT_BODY, identity):
        return diagnose("between.expect_ok")
    if _foreign_answer(context, {}, _EXPECT_BODY, identity, is_patient=True):
        return []  # The header makes no difference; other steps tell more.
    # Once may be chance.
    how = _foreign_answer(context, _EXPECT, _EXPECT_BODY, identity, is_patient=True)
    if not how:
        return diagnose("between.expect_ok")
    return diagnose("between.expect_refused", how=how)
