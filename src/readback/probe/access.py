"""The step "key accepted": the key arrives, and opens the door."""

from http import HTTPStatus

from readback.probe.calls import Answer
from readback.probe.diagnoses import found
from readback.probe.findings import Finding, Trouble
from readback.probe.recognition import Refused, refusal_in, stranger, trouble_of
from readback.probe.scene import MODELS, Scene
from readback.probe.wording import milliseconds


def check(scene: Scene) -> Finding:
    answer = scene.ask(MODELS)
    if answer.status != HTTPStatus.OK:
        raise _refused(scene, answer)
    scene.models = answer
    return found("key.accepted", figure=milliseconds(answer.timing.answer))


def _refused(scene: Scene, answer: Answer) -> Trouble:
    refused = refusal_in(answer)
    if refused is None:
        if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return Trouble("key.other_refusal", status=answer.status)
        return stranger(answer, f"{scene.address}{MODELS}")
    if refused.code == "not_found":
        added = "URL parameter" in refused.detail
        id = "http.parameter_added" if added else "http.path_changed"
        return Trouble(id, detail=refused.detail)
    if refused.code == "invalid_key":
        return _not_accepted(scene, refused)
    return trouble_of(answer, refused)


def _not_accepted(scene: Scene, refused: Refused) -> Trouble:
    """Ask again without a key: the same words mean that none arrived before."""
    without = refusal_in(scene.ask(MODELS, with_key=False))
    id = "key.stripped" if refused == without else "key.refused"
    return Trouble(id, detail=refused.detail)
