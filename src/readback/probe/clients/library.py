"""The step "openai": the same call through the openai package, if it is installed.

It runs only after the echo has worked, so a failure here is caused by the library or
its settings, not by the connection.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from readback.contract import MODEL, ROLE
from readback.probe.context import ProbeContext
from readback.probe.diagnoses import diagnose
from readback.probe.formatting import sanitize
from readback.probe.results import Diagnosis, ProbeError
from readback.probe.service.differences import first_difference
from readback.probe.service.echo import MARKS


def check(context: ProbeContext) -> Diagnosis:
    if find_spec("openai") is None:
        return diagnose("openai.missing")
    # Imported by name: the package and its types are optional.
    openai = import_module("openai")
    version = sanitize(openai.__version__)
    context.budget.spend()
    context.key_destinations.add(context.route.key_destination)
    try:
        with openai.OpenAI(
            api_key=context.key.reveal(),
            base_url=str(context.base_url),
            timeout=context.timeout,
            max_retries=0,
        ) as client:
            completion = client.chat.completions.create(
                model=MODEL, messages=[{"role": ROLE, "content": MARKS}]
            )
        received = str(completion.choices[0].message.content)
    except Exception as error:  # Any exception of the library is the result.
        reason = sanitize(f"{type(error).__name__}: {error}")
        raise ProbeError("openai.fails", version=version, reason=reason) from None
    if received != MARKS:
        difference = first_difference(MARKS, received)
        raise ProbeError("openai.changes", version=version, difference=difference)
    return diagnose("openai.same", version=version)
