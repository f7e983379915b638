"""Steps that hold the service to its contract: models, limits, parameters, reuse."""

from http import HTTPStatus

from readback.contract import MAX_CONTENT_BYTES, MODEL_LIST
from readback.probe.calls import Answer
from readback.probe.diagnoses import found
from readback.probe.echo import request_body
from readback.probe.findings import Finding
from readback.probe.recognition import json_in, refusal_in, stranger, trouble_of
from readback.probe.scene import MODELS, Scene
from readback.probe.wording import milliseconds

_TRANSIENT = ("rate_limited", "unavailable", "internal_error")


def check_models(scene: Scene) -> Finding:
    is_right = json_in(scene.models.body) == MODEL_LIST
    return found("models.ok" if is_right else "models.changed")


def check_limit(scene: Scene) -> Finding:
    answer = scene.say(request_body("x" * (MAX_CONTENT_BYTES + 1)))
    _raise_if_transient(answer)
    refused = refusal_in(answer)
    if refused and refused.code == "content_too_large":
        return found("limit.refused", figure=str(answer.status))
    if answer.status == HTTPStatus.OK:
        return found("limit.ignored")
    return found("limit.refused_elsewhere", status=answer.status)


def check_parameter(scene: Scene) -> Finding:
    answer = scene.ask(f"{MODELS}?probe=1")
    _raise_if_transient(answer)
    refused = refusal_in(answer)
    if refused and refused.code == "not_found":
        return found("parameter.refused", figure=str(answer.status))
    if answer.status != HTTPStatus.OK and not refused:
        raise stranger(answer, f"{scene.address}{MODELS}")
    return found("parameter.ignored", status=answer.status)


def check_reuse(scene: Scene) -> Finding:
    with scene.new_caller() as caller:
        url = f"{scene.address}{MODELS}"
        first, second = (caller.ask("GET", url, key=scene.key) for _ in range(2))
    is_kept = second.timing.connect is None
    figure = milliseconds(second.timing.total)
    return found(
        "reuse.ok" if is_kept else "reuse.closed",
        figure=figure,
        first_milliseconds=round(first.timing.total * 1000, 3),
        second_milliseconds=round(second.timing.total * 1000, 3),
    )


def _raise_if_transient(answer: Answer) -> None:
    """Do not take a busy service for one that breaks a rule."""
    refused = refusal_in(answer)
    if refused and refused.code in _TRANSIENT:
        raise trouble_of(answer, refused)
