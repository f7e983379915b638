"""The step "openai": the same call through the openai package, if it is there.

Only where everything before worked: then a failure here is the library's, or that of
its settings, and not the way's.
"""

from importlib import import_module
from importlib.util import find_spec

from readback.contract import MODEL, ROLE
from readback.probe.diagnoses import found
from readback.probe.differences import first
from readback.probe.echo import MARKS
from readback.probe.findings import Finding, Trouble
from readback.probe.scene import Scene
from readback.probe.wording import foreign


def check(scene: Scene) -> Finding:
    if find_spec("openai") is None:
        return found("openai.missing")
    # By name: the package is no dependency, and its types need not be there.
    openai = import_module("openai")
    version = foreign(openai.__version__)
    scene.budget.spend()
    try:
        with openai.OpenAI(
            api_key=scene.key.reveal(),
            base_url=str(scene.address),
            timeout=scene.timeout,
            max_retries=0,
        ) as client:
            answer = client.chat.completions.create(
                model=MODEL, messages=[{"role": ROLE, "content": MARKS}]
            )
        came = str(answer.choices[0].message.content)
    except Exception as fault:  # Whatever a library raises is what it is asked about.
        reason = foreign(f"{type(fault).__name__}: {fault}")
        raise Trouble("openai.fails", version=version, reason=reason) from None
    if came != MARKS:
        raise Trouble("openai.changes", version=version, difference=first(MARKS, came))
    return found("openai.same", version=version)
