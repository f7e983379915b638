"""The step "programs run": asks the same through the programs of this machine.

The key is sent only if the probe's own request with it was accepted; otherwise the
programs are asked with a word that is not a key, to see whether they get a response.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

from readback.contract import MODEL, ROLE
from readback.probe.clients.installed import (
    ClientRequest,
    ProgramAnswer,
    find_programs,
)
from readback.probe.common.background import BackgroundCall
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service.echo import MARKS
from readback.probe.transport.context import ProbeContext

_NO_KEY = "no-key"
_NO_RESPONSE = "no response"


def check(context: ProbeContext) -> Diagnosis:
    request = _request(context)
    started = [
        (program, BackgroundCall(partial(program.send, request)))
        for program in find_programs()
        if _is_affordable(request, context)
    ]
    answers = {program.name: call.result() for program, call in started}
    if not answers:
        return diagnose("run.none")
    outcomes = {name: _outcome(answer) for name, answer in answers.items()}
    if request.key != _NO_KEY:
        echoed = ", then 200 with the same text" if request.body else ""
        outcomes["this probe"] = f"status 200{echoed}"
    return _with_table(_compare(outcomes), answers)


def _request(context: ProbeContext) -> ClientRequest:
    accepted = "models" in vars(context)
    key = context.usable_key
    # Only Readback lists this model, so nothing that costs money is sent.
    is_readback = accepted and MODEL.encode() in context.models.body
    chat = {"model": MODEL, "messages": [{"role": ROLE, "content": MARKS}]}
    return ClientRequest(
        str(context.base_url),
        key.reveal() if accepted and key else _NO_KEY,
        context.timeout,
        json.dumps(chat) if is_readback else "",
    )


def _is_affordable(request: ClientRequest, context: ProbeContext) -> bool:
    """Spend the budget for the requests of a program; return False if it is used up."""
    try:
        for _ in range(2 if request.body else 1):
            context.budget.spend()
    except ProbeError:
        return False
    return True


def _outcome(answer: ProgramAnswer) -> str:
    if not answer.models:
        return _NO_RESPONSE
    if not answer.chat:
        return f"status {answer.models}"
    try:
        content: Any = answer.content
        text = content["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        text = None
    same = "the same text" if text == MARKS else "another text"
    return f"status {answer.models}, then {answer.chat} with {same}"


def _compare(outcomes: dict[str, str]) -> Diagnosis:
    groups: dict[str, list[str]] = {}
    for name, outcome in outcomes.items():
        groups.setdefault(outcome, []).append(name)
    if set(groups) == {_NO_RESPONSE}:
        return diagnose("run.no_response")
    if len(groups) == 1:
        return diagnose("run.same", outcome=next(iter(groups)))
    said = (f"{one[0].upper()}{one[1:]}: {', '.join(groups[one])}." for one in groups)
    return diagnose("run.differs", outcomes=" ".join(said))


def _with_table(diagnosis: Diagnosis, answers: dict[str, ProgramAnswer]) -> Diagnosis:
    lines, facts = [], dict(diagnosis.facts)
    programs: dict[str, Fact] = {}
    for name, answer in answers.items():
        outcome = _outcome(answer)
        error = f": {answer.error}" if answer.error else ""
        lines.append(f"{name} {answer.version}: {outcome}{error}")
        programs[name] = {
            "version": answer.version,
            "outcome": outcome,
            "error": answer.error,
        }
    facts["programs"] = programs
    return replace(diagnosis, details=tuple(lines), facts=facts)
