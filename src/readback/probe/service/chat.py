"""Steps for `--chat MODEL`: one short completion, in one piece and as a stream.

No other step sends anything that may cost money. Each of these sends one request, and
one more if the service wants the limit of tokens under its newer name.
"""

from __future__ import annotations

import json
import time
from http import HTTPStatus
from typing import Any

from readback.probe.common.formatting import format_duration, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service import recognition
from readback.probe.service.answers import (
    ApiError,
    error_in,
    model_ids,
    parse_error,
    parse_json,
    safe_message,
)
from readback.probe.service.endpoint import near_names, refused
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.context import CHAT, ProbeContext

# Long enough to see whether the parts of a stream arrive one after the other.
_TEXT = "Count from 1 to 20, separated by spaces."
_MAX_TOKENS = 48
_NEWER_LIMIT = "max_completion_tokens"
_NO_MODEL = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
_DONE = b"[DONE]"
# The text of a part, or the thoughts that some models send before it.
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning")
# No model makes this many parts in so short a time: something has collected them.
_FEWEST_PARTS = 5
_TOGETHER_SECONDS = 0.005
# A short answer from a cache may well arrive at once.
_LEAST_SECONDS = 0.15


def check_completion(context: ProbeContext) -> Diagnosis:
    response, _ = _ask(context, stream=False)
    content = parse_json(response.body)
    if not _is_completion(content):
        raise ProbeError("chat.form")
    usage = content.get("usage")
    names = ("prompt_tokens", "completion_tokens")
    numbers = {one: usage.get(one) for one in names} if isinstance(usage, dict) else {}
    is_complete = all(type(number) is int for number in numbers.values())
    used: dict[str, Fact] = dict(numbers) if is_complete else {}
    return diagnose(
        "chat.completed" if used else "chat.unmeasured",
        figure=format_duration(response.timing.answer),
        milliseconds=round(response.timing.answer * 1000, 3),
        sent_to=context.key_sent_to,
        **used,
    )


def check_stream(context: ProbeContext) -> Diagnosis:
    response, stream = _ask(context, stream=True)
    if _is_completion(parse_json(response.body)):
        return diagnose("stream.ignored")
    if stream.error:
        detail = safe_message(stream.error, context.usable_key)
        raise ProbeError("stream.error", detail=detail)
    if not stream.moments:
        raise ProbeError("stream.form")
    id = "stream.together" if stream.arrived_together else "stream.ok"
    first = stream.first_text or stream.moments[0]
    total = response.timing.answer
    return diagnose(
        id if stream.is_done else "stream.unfinished",
        figure=format_duration(first),
        parts=len(stream.moments),
        first=format_duration(first),
        first_milliseconds=round(first * 1000, 3),
        total=format_duration(total),
        total_milliseconds=round(total * 1000, 3),
    )


def _ask(context: ProbeContext, *, stream: bool) -> tuple[ProbeResponse, EventStream]:
    """Ask for a completion; raise `ProbeError` if the service does not make one."""
    response, events = _post(context, stream)
    error = parse_error(response)
    is_refused = response.status == HTTPStatus.BAD_REQUEST
    is_older = context.token_limit != _NEWER_LIMIT
    if error and is_refused and is_older and _NEWER_LIMIT in error.message:
        context.token_limit = _NEWER_LIMIT
        response, events = _post(context, stream)
    if no_model := _about_the_model(context, response):
        raise no_model
    if response.status == HTTPStatus.NOT_FOUND:
        raise ProbeError("chat.no_path", status=response.status)
    if response.status != HTTPStatus.OK:
        raise refused(context, response)
    # LiteLLM says its name only here.
    context.endpoint_name = context.endpoint_name or recognition.program_name(response)
    return response, events


def _post(context: ProbeContext, stream: bool) -> tuple[ProbeResponse, EventStream]:
    body = {
        "model": context.chat_model,
        "messages": [{"role": "user", "content": _TEXT}],
        context.token_limit: _MAX_TOKENS,
        "stream": stream,
    }
    events = EventStream()
    response = context.client.request(
        "POST",
        f"{context.base_url.path}{CHAT}",
        key=context.usable_key,
        body=json.dumps(body).encode(),
        on_part=events.feed,
    )
    return response, events


def _about_the_model(
    context: ProbeContext, response: ProbeResponse
) -> ProbeError | None:
    """Return the error if the service does not offer the model, else None."""
    error, model = parse_error(response), context.chat_model or ""
    if error is None or response.status not in _NO_MODEL:
        return None
    names = model_ids(context.models) or []
    is_named = model in error.message and model not in names
    if not is_named and "model" not in error.code.lower():
        return None
    near = ", ".join(map(sanitize, near_names(model, names))) or "none is similar"
    return ProbeError("chat.no_model", model=sanitize(model), near=near)


def _is_completion(content: Any) -> bool:
    try:
        return isinstance(content["choices"][0]["message"], dict)
    except (KeyError, IndexError, TypeError):
        return False


class EventStream:
    def __init__(self) -> None:
        self._started = time.monotonic()
        self._rest = b""
        self.moments: list[float] = []
        """The seconds from the request until each part was read."""
        self._arrivals: list[float] = []
        """The seconds from the request during which each part had not arrived."""
        self.first_text: float | None = None
        self.is_done = False
        self.error: ApiError | None = None

    def feed(self, received: bytes, arrived: float) -> None:
        """Read a part that had not arrived before this moment of the clock."""
        seen = (time.monotonic() - self._started, arrived - self._started)
        *lines, self._rest = (self._rest + received).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._read_event(line[len(b"data:") :].strip(), *seen)

    @property
    def arrived_together(self) -> bool:
        """Whether all parts arrived at one moment, long after the request."""
        # Not by when they were read: a busy machine reads late what arrived in time.
        if len(self._arrivals) < _FEWEST_PARTS or self._arrivals[0] < _LEAST_SECONDS:
            return False
        return self._arrivals[-1] - self._arrivals[0] < _TOGETHER_SECONDS

    def _read_event(self, data: bytes, moment: float, arrived: float) -> None:
        if data == _DONE:
            self.is_done = True
            return
        content = parse_json(data)
        self.error = self.error or error_in(content)
        choices = content.get("choices") if isinstance(content, dict) else None
        if not isinstance(choices, list) or not choices:
            return
        self.moments.append(moment)
        self._arrivals.append(arrived)
        delta = choices[0].get("delta") if isinstance(choices[0], dict) else None
        has_text = isinstance(delta, dict) and any(map(delta.get, _TEXT_FIELDS))
        if self.first_text is None and has_text:
            self.first_text = moment
