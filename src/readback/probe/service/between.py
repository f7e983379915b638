"""The step "User-Agent": whether something blocks the openai package by its name.

A filter may let the probe through but block that package. The step asks for the list of
models, a request that every service answers or refuses without a key.
"""

from __future__ import annotations

from http import HTTPStatus

from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.service import answers
from readback.probe.transport.context import MODELS, ProbeContext
from readback.probe.transport.exchanges import outcome_of

_OPENAI = {
    "User-Agent": "OpenAI/Python 3.49.0",
    "X-Stainless-Lang": "python",
    "X-Stainless-Package-Version": "3.49.0",
}


def check_agents(context: ProbeContext) -> list[Diagnosis]:
    """Ask for the models, without the key, as the openai package would."""
    if context.models_without_key.status == HTTPStatus.TOO_MANY_REQUESTS:
        return []  # There is no normal answer to compare with.
    how = _foreign_answer(context, _OPENAI)
    # If a request without these headers is refused as well, the reason may be a rate
    # limit. The step is repeated to rule out a coincidence.
    if not how or _foreign_answer(context, {}):
        return []
    return [diagnose("between.program_blocked", how=how)]


def _foreign_answer(context: ProbeContext, headers: dict[str, str]) -> str:
    """Return the outcome if it differs from that of the first request, or ""."""
    try:
        with context.new_client() as client:
            client.headers = {**context.headers, **headers}
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
