"""Steps for an OpenAI-compatible endpoint other than Readback: key, models, completion.

The list of models costs nothing. The key is sent only if the rule in `credentials`
allows it. Only `--chat MODEL` requests anything that may cost money: a short completion
in one piece and one as a stream. A request is repeated if the service expects the token
limit under its newer name.
"""

from __future__ import annotations

import difflib
import json
import re
import time
from http import HTTPStatus
from typing import Any

from readback.probe.common.catalogue import diagnose, from_error, say
from readback.probe.common.formatting import format_duration, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError, as_warning
from readback.probe.entered import PROVIDERS
from readback.probe.service import answers, credentials, instead
from readback.probe.transport.context import CHAT, MODELS, ProbeContext
from readback.probe.transport.exchanges import ProbeResponse, parse_json

_SHOWN_MODELS = 5
_NEAR_NAMES = 3
_SIMILARITY = 0.4
# How an OpenAI-compatible API may respond to a request without a key.
_OF_AN_API = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_OF_A_KEY = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
_SERVER_ERROR = HTTPStatus.INTERNAL_SERVER_ERROR
_NO_MONEY = ("_quota", "billing", "balance", "credit", "budget")
_REFUSED: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "key.refused",
    HTTPStatus.PAYMENT_REQUIRED: "endpoint.quota",
    HTTPStatus.TOO_MANY_REQUESTS: "http.rate_limited",
}
# Long enough to see whether the parts of a stream arrive one after the other.
_TEXT = "Count from 1 to 20, separated by spaces."
_MAX_TOKENS = 48
_NEWER_LIMIT = "max_completion_tokens"
_NO_MODEL = (400, 401, 403, 404)
# Part of an error about the model; after a slash, the word belongs to a path.
_ABOUT_MODEL = re.compile("(?<!/)(model|deployment)", re.IGNORECASE)
# How a service refuses to list models although the key may be valid for completions.
_ABOUT_LIST = re.compile(r"\bscopes?\b|\bmodels?[./_]?(read|list)|list (of )?models")
# How a service says with 403 that it does not accept the key.
_BAD_KEY = re.compile(
    r"(invalid|incorrect|expired|no valid|unknown|wrong) ([\w-]+ ){0,2}(key|token)\b"
    r"|(key|token) ([\w-]+ ){0,3}(invalid|incorrect|expired|revoked|not (valid|found))",
    re.IGNORECASE,
)
# The headers in which Anthropic, Azure, Google and API gateways expect the key.
_OTHER_HEADER = re.compile(
    r"\b(x-)?(goog-)?api-key\b|subscription[ -]key", re.IGNORECASE
)
_BROKEN_OFF = ("http.cut", "http.stalled", "http.silent")
# No model creates this many parts in such a short time: something has buffered them.
_FEWEST_PARTS = 5
_TOGETHER_SECONDS = 0.005
# A short answer from a cache may legitimately arrive at once.
_LEAST_SECONDS = 0.15


def check_access(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    key = context.usable_key
    if key and key.is_readback_key:
        raise _readback_elsewhere(context)
    if key and (error := credentials.kept_from_host(context)):
        raise error
    without_key = context.models_without_key
    try:
        response = context.models = context.ask(MODELS) if key else without_key
        if _lacks_models(context, response):
            # The completion, if one is requested, shows whether the key is accepted.
            return [] if context.chat_model else _no_models(context, response)
        if error := _refused_access(context, response):
            if error.id == "key.other_header" and _has_own_chat(context):
                return _no_models(context, response)
            raise error
    except ProbeError as error:
        error.is_final = context.is_tried
        raise
    finding = "endpoint.open" if without_key.is_success else "key.accepted"
    return diagnose(finding, figure=response.figure)


def _no_models(context: ProbeContext, response: ProbeResponse) -> Diagnosis:
    is_restricted = response.status == HTTPStatus.FORBIDDEN
    said = f"{response.status} {answers.words(response)}".rstrip()
    known = say("may_lack_permission" if is_restricted else "is_key_accepted")
    ask = _ask_with_chat(context)
    return diagnose("endpoint.no_models", said=said, known=known, ask=ask)


def _has_own_chat(context: ProbeContext) -> bool:
    """Return whether only completions have OpenAI's form, as with Anthropic."""
    chat = context.ask(CHAT, b"{}", with_key=False)
    contents = (chat.json, context.models_without_key.json)
    forms = [set(content) for content in contents if isinstance(content, dict)]
    return answers.has_path(chat) and len(forms) == 2 and forms[0] != forms[1]


def _readback_elsewhere(context: ProbeContext) -> ProbeError:
    without_key = context.models_without_key
    status = without_key.status
    error = answers.inside(without_key.json, "error")
    # A gateway in front of Readback has no list of models, and its errors rarely have
    # OpenAI's form.
    is_other = isinstance(error, dict) and {"message", "type"} <= set(error)
    if not is_other and credentials.depends_on_key(without_key):
        return credentials.kept(context, without_key) or ProbeError("key.none")
    # With any other status, nothing proves that an OpenAI-compatible API responded.
    if not (without_key.is_success or status in _OF_AN_API):
        return instead.unexpected_response(without_key, is_recognized=False)
    said = f"{status} {answers.words(without_key)}".rstrip()
    facts = {"host": context.base_url.host, "said": said}
    return ProbeError("key.readback_elsewhere", **facts)


def _lacks_models(context: ProbeContext, response: ProbeResponse) -> bool:
    """Return whether the model list cannot show that the key is accepted."""
    status = response.status
    is_ok = response.is_success
    is_page = is_ok and answers.is_html(response)
    is_error = answers.error_in(response.json) is not None
    # The service was not recognized without the key and has no model list with it.
    is_unknown = context.is_tried and is_ok and not is_error
    is_unknown = is_unknown and answers.model_ids(response) is None
    is_about_list = context.chat_model or _ABOUT_LIST.search(answers.words(response))
    is_restricted = status == HTTPStatus.FORBIDDEN and is_error and is_about_list
    is_missing = status in answers.NO_SUCH_PATH
    return bool(is_page or is_missing or is_unknown or is_restricted)


def _refused_access(
    context: ProbeContext, response: ProbeResponse
) -> ProbeError | None:
    without_key = context.models_without_key
    status = response.status
    said = answers.words(response)
    is_same = (said, status) == (answers.words(without_key), without_key.status)
    is_same = is_same and answers.error_in(response.json) == answers.error_in(
        without_key.json
    )
    is_about_key = status == HTTPStatus.FORBIDDEN and _BAD_KEY.search(said)
    judged = instead.unexpected_response(response, is_recognized=False)
    if is_same and (is_about_key or status == HTTPStatus.UNAUTHORIZED):
        if isinstance(response.json, (dict, list)) or not context.usable_key:
            return refused(context, response, "key.refused_or_lost")
        # A page or a line of text may come from a gateway with a login of its own.
        return judged
    if is_about_key or (status in _OF_A_KEY and context.usable_key):
        # Only the key is new in this request. Google, xAI and LiteLLM refuse a wrong
        # key with 400; web servers refuse a key that is too long with 400 or 431.
        return refused(context, response, "key.refused")
    is_missing = context.is_tried and judged.id == "http.no_such_path"
    if status in instead.OF_FORM or is_missing:
        return judged
    if not response.is_success:
        return refused(context, response)
    return answers.error_in_success(response)


def check_models(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    names = answers.model_ids(context.models)
    if names is None or answers.is_html(context.models):
        return []
    if isinstance(context.models.json, list):
        facts = {"known": say("as_clients_read_it"), "said": say("bare_array")}
        return diagnose("endpoint.no_models", **facts, ask="")
    if not names:
        return diagnose("models.empty")
    shown = sorted(names)[:_SHOWN_MODELS]
    if context.chat_model in names:
        shown = [context.chat_model]
    more = ", …" if len(names) > len(shown) else ""
    some = ", ".join(map(sanitize, shown))
    return diagnose("models.listed", count=len(names), names=f"{some}{more}")


def _near_names(model: str, names: list[str]) -> str:
    # Gateways put the provider before the name; local servers append a tag.
    near = difflib.get_close_matches(model, names, _NEAR_NAMES, cutoff=_SIMILARITY)
    shown = ", ".join(map(sanitize, near or names[:_NEAR_NAMES]))
    return say("list_contains", names=shown) if shown else ""


def refused(
    context: ProbeContext, response: ProbeResponse, finding: str = ""
) -> ProbeError:
    if answers.refuses_place(response):
        return instead.unexpected_response(response)
    error = answers.error_in(response.json)
    # A recognized API may refuse with any JSON object.
    is_own = isinstance(response.json, dict) and response.status < _SERVER_ERROR
    is_own = is_own or response.status in (HTTPStatus.UNAUTHORIZED, _SERVER_ERROR)
    if error is None and not is_own and finding != "key.refused":
        return instead.unexpected_response(response)
    detail = error.shown if error else answers.words(response) or say("no_explanation")
    asks = response.status == HTTPStatus.UNAUTHORIZED or context.is_tried
    if asks and not context.usable_key:
        said = f": {detail.rstrip('.')}"
        return ProbeError("key.none", detail=said, status=response.status)
    is_late = response.status == HTTPStatus.REQUEST_TIMEOUT
    if is_late or response.status >= _SERVER_ERROR:
        finding = "http.unavailable"
    elif error and any(word in error.code.lower() for word in _NO_MONEY):
        finding = "endpoint.quota"
    finding = finding or _REFUSED.get(response.status, "endpoint.refused")
    if finding.startswith("key.refused") and context.key.is_placeholder:
        return ProbeError("key.other_service", reason=say("is_placeholder"))
    host = context.base_url.host
    other = context.key.provider if host in PROVIDERS else ""
    if finding.startswith("key.refused") and other not in ("", host):
        reason = say("begins_like", host=other)
        return ProbeError("key.other_service", reason=reason, detail=detail)
    # At this path, Azure accepts a bearer token, so the header is right.
    is_bearer = context.base_url.path.endswith("/openai/v1") and "invalid" in detail
    if finding.startswith("key.refused") and _OTHER_HEADER.search(detail):
        finding = "key.refused" if is_bearer else "key.other_header"
    is_accepted = not context.models_without_key.is_success
    is_behind = is_accepted and response.status == HTTPStatus.UNAUTHORIZED
    return ProbeError(
        finding,
        status=response.status,
        detail=detail,
        wait=response.retry_after or say("a_few"),
        advice=say("gateway_key" if is_behind else "right_to_complete")
        if response.url.endswith(CHAT)
        else f"{say('right_to_list')}{_ask_with_chat(context)}",
    )


def _ask_with_chat(context: ProbeContext) -> str:
    return "" if context.chat_model else say("ask_with_chat")


def check_completion(context: ProbeContext) -> Diagnosis:
    response, stream = _ask(context, stream=False)
    if stream.moments:
        return diagnose("chat.form", how=say("a_stream"))
    if error := answers.error_in_success(response):
        raise error
    if answers.is_html(response):
        raise instead.unexpected_response(response)
    if not _is_completion(response.json):
        if said := answers.words(response):
            status = response.status
            raise ProbeError("http.error_in_success", status=status, detail=said)
        raise ProbeError("chat.form", how=say("another_form"))
    note = say("needs_newer_limit") if context.token_limit == _NEWER_LIMIT else ""
    milliseconds = round(response.seconds * 1000, 3)
    facts: dict[str, Fact] = {"note": note, "milliseconds": milliseconds}
    return diagnose("chat.completed", figure=response.figure, **facts)


def check_stream(context: ProbeContext) -> Diagnosis:
    try:
        response, stream = _ask(context, stream=True)
    except ProbeError as error:
        if error.id not in _BROKEN_OFF:
            raise
        said = from_error(error).sentence
        raise ProbeError("stream.broken", detail=said) from None
    if _is_completion(response.json):
        return as_warning(diagnose("stream.broken", detail=say("ignores_stream")))
    if stream.error:
        raise ProbeError("stream.broken", detail=stream.error.shown)
    if not stream.moments:
        raise ProbeError("stream.broken", detail=say("contains_no_completion"))
    if not stream.is_done:
        detail = say("lacks_done", parts=len(stream.moments))
        return as_warning(diagnose("stream.broken", detail=detail))
    first = stream.moments[0]
    total = response.seconds
    return diagnose(
        "stream.together" if stream.arrived_together else "stream.ok",
        figure=format_duration(first),
        parts=len(stream.moments),
        first=format_duration(first),
        first_milliseconds=round(first * 1000, 3),
        total=format_duration(total),
        total_milliseconds=round(total * 1000, 3),
    )


def _ask(context: ProbeContext, *, stream: bool) -> tuple[ProbeResponse, EventStream]:
    response, events = _post(context, stream)
    error = answers.error_in(response.json)
    is_refused = response.status == HTTPStatus.BAD_REQUEST
    is_older = context.token_limit != _NEWER_LIMIT
    if error and is_refused and is_older and _NEWER_LIMIT in error.message:
        context.token_limit = _NEWER_LIMIT
        response, events = _post(context, stream)
    error = answers.error_in(response.json)
    model = context.chat_model or ""
    said = answers.words(response) or say("no_explanation")
    if error and (response.status in _NO_MODEL or "model_not_found" in error.code):
        names = answers.model_ids(context.models) or []
        is_named = model in error.message
        is_missing = response.status == HTTPStatus.NOT_FOUND
        is_missing = is_missing and bool(_ABOUT_MODEL.search(error.message))
        is_coded = _ABOUT_MODEL.search(error.code)
        if is_coded and model in names and response.status in _OF_AN_API:
            raise refused(context, response, "endpoint.refused")
        if is_missing or is_coded or (is_named and model not in names):
            facts = {"model": sanitize(model), "near": _near_names(model, names)}
            raise ProbeError("chat.no_model", said=said, **facts)
    if response.status == HTTPStatus.NOT_FOUND:
        raise refused(context, response, "endpoint.refused")
    if not response.is_success:
        is_listed = context.models.is_success
        is_accepted = is_listed and not context.models_without_key.is_success
        is_behind = is_accepted and response.status == HTTPStatus.UNAUTHORIZED
        raise refused(context, response, "endpoint.refused" if is_behind else "")
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
        f"{context.base_url.path}{CHAT}",
        key=context.usable_key,
        body=json.dumps(body).encode(),
        on_part=events.feed,
    )
    return response, events


def _is_completion(content: Any) -> bool:
    return isinstance(answers.inside(content, "choices", 0, "message"), dict)


class EventStream:
    def __init__(self) -> None:
        self._started = time.monotonic()
        self._rest = bytearray()
        self.moments: list[float] = []
        """The seconds from the request until each part was received."""
        self.is_done = False
        self.error: answers.ApiError | None = None

    def feed(self, received: bytes, moment: float) -> None:
        self._rest += received
        if b"\n" not in received:  # Avoid copying an endless line again for each part.
            return
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[len(b"data:") :].strip()
            self.is_done |= data == b"[DONE]"
            content = parse_json(data)
            self.error = self.error or answers.error_in(content)
            choices = answers.inside(content, "choices")
            if isinstance(choices, list) and choices:
                self.moments.append(moment - self._started)

    @property
    def arrived_together(self) -> bool:
        """Whether all parts arrived at the same moment, some time after the request."""
        if len(self.moments) < _FEWEST_PARTS or self.moments[0] < _LEAST_SECONDS:
            return False
        return self.moments[-1] - self.moments[0] < _TOGETHER_SECONDS
