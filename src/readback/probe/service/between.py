"""What is between this machine and the service: which programs it lets through.

`ask_as_others` explains a failed step: if something other than the service responds,
the request is repeated as other programs would send it. The step "User-Agent" is the
opposite: the probe gets through, but others may not. It asks for the list of models,
which every service answers or refuses without a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from http import HTTPStatus

from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import diagnose, has_tag, say
from readback.probe.common.formatting import listed
from readback.probe.common.results import Diagnosis, ProbeError, as_warning
from readback.probe.service import answers
from readback.probe.transport.context import MODELS, Check, ProbeContext
from readback.probe.transport.exchanges import outcome_of

OWN = "this_program"
OPENAI = "the_openai_package"
# Other programs and the headers by which they are known.
OTHERS: dict[str, Mapping[str, str]] = {
    OPENAI: {
        "User-Agent": "OpenAI/Python 3.49.0",
        "X-Stainless-Lang": "python",
        "X-Stainless-Package-Version": "3.49.0",
    },
    "curl": {"User-Agent": "curl/8.14.1", "Accept": "*/*"},
    "a_browser": {
        "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 "
        "(KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language": "en-US,en;q=0.9",
    },
}


def ask_as_others(
    context: ProbeContext, doubtful: ProbeError, check: Check
) -> list[Diagnosis]:
    """Run a step as other programs after a result that is doubtful."""
    if not has_tag(doubtful.id, "doubtful") or context.identity:
        raise doubtful
    results: dict[str, list[Diagnosis]] = {}
    for name, headers in OTHERS.items():
        context.close()  # A blocked request may block its whole connection.
        context.identity.update(headers)
        try:
            found = check(context)
            results[name] = found if isinstance(found, list) else [found]
        except ProbeError:
            continue
        finally:
            context.identity.clear()
    if not results:
        if "tried" in doubtful.facts:
            tried = say("no_difference")
            doubtful.facts["tried"] = tried
        raise doubtful
    passed = list(results)
    context.identity.update(OTHERS[passed[0]])
    return [_blocked(passed, outcome_of(doubtful)), *results[passed[0]]]


def check_agents(context: ProbeContext) -> list[Diagnosis]:
    """Ask for the models, without the key, as other programs would."""
    if context.identity:
        return []  # An earlier step has asked already.
    if context.models_without_key.status == HTTPStatus.TOO_MANY_REQUESTS:
        return []  # There is nothing to compare with.
    foreign = _foreign_answers(context, OTHERS)
    # It may be a rate limit; if it is chance, the step is repeated.
    if not foreign or _foreign_answers(context, [OWN]):
        return []
    if list(foreign) == ["a_browser"]:
        return []  # Nobody uses an API with a browser, and pages are for browsers.
    passed = [OWN, *(name for name in OTHERS if name not in foreign)]
    return [_blocked(passed, next(iter(foreign.values())))]


def _foreign_answers(context: ProbeContext, programs: Iterable[str]) -> dict[str, str]:
    """Ask as these programs, in parallel; return answers that are not the service's."""
    headers = {OWN: {}, **OTHERS}
    calls = {
        name: BackgroundCall(partial(_foreign_answer, context, headers[name]))
        for name in programs
    }
    return {name: answer for name, call in calls.items() if (answer := call.result())}


def _blocked(passed: Sequence[str], how: str) -> Diagnosis:
    blocked = [name for name in (OWN, *OTHERS) if name not in passed]
    names = {"blocked": _shown(blocked), "passed": _shown(passed)}
    found = diagnose("between.program_blocked", **names, used=say(passed[0]), how=how)
    return found if OPENAI in blocked else as_warning(found)


def _shown(names: Iterable[str]) -> str:
    return listed(map(say, names))


def _foreign_answer(context: ProbeContext, headers: Mapping[str, str]) -> str:
    """Return what answers the request if it is not the service; otherwise nothing."""
    try:
        with context.new_client() as client:
            client.identity = headers
            response = context.ask(MODELS, client=client, with_key=False)
    except ProbeError as error:
        if error.id.startswith("skipped."):
            raise
        return outcome_of(error)
    own = context.models_without_key
    status = response.status
    is_page = answers.is_html(response) and not answers.is_html(own)
    is_own = status == own.status and not is_page
    return "" if is_own else say("with_status", status=status)
