"""The step "in between": what was changed in the responses of the earlier steps.

No request is sent for it. A changed text is the finding of the step "echo"; here it is
what surrounds the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from readback.contract import MODEL, MODEL_LIST
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, Fact
from readback.probe.diagnoses import diagnose
from readback.probe.service.answers import (
    COMPLETION_FIELDS,
    ERROR_FIELDS,
    added_fields,
    parse_json,
)
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.context import ProbeContext

_ID = "X-Request-Id"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_8 = {"", "utf-8", "utf8"}
# The cookies by which common bot protections tell their visitors apart.
_BOT_COOKIES = re.compile(
    r"__cf_bm|cf_clearance|datadome|_abck|bm_s[vz]|ak_bmsc|incap_ses|visid_incap"
    r"|aws-waf-token|reese84|_px",
    re.IGNORECASE,
)
_HIT = re.compile(r"\bhit\b", re.IGNORECASE)
_HTTP_1_0 = 10
_SHOWN = 5


class Answer(NamedTuple):
    """A response of the service and its parsed body."""

    response: ProbeResponse
    content: dict[str, Any]

    @property
    def is_completion(self) -> bool:
        return "choices" in self.content

    def header(self, name: str) -> str:
        return self.response.headers.get(name, "")

    def every(self, name: str) -> list[str]:
        return [str(value) for value in self.response.headers.get_all(name, [])]


Facts = dict[str, Fact]
Look = Callable[[Answer], "Facts | None"]


def check(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    answers = list(_answers(context.responses))
    findings = [
        diagnose(id, figure="", **facts)
        for id, look in _LOOKS.items()
        if (facts := _first(map(look, answers))) is not None
    ]
    if _loses_id(answers):
        findings.append(diagnose("between.request_id_removed"))
    if findings:
        return findings
    if seen := ", ".join(dict.fromkeys(_traces(answers))):
        return diagnose("between.seen", seen=seen)
    return diagnose("between.unchanged")


def _answers(responses: Iterable[ProbeResponse]) -> Iterator[Answer]:
    for response in responses:
        content = parse_json(response.body)
        if isinstance(content, dict) and content.keys() & {"choices", "data", "error"}:
            yield Answer(response, content)


def _first(found: Iterable[Facts | None]) -> Facts | None:
    return next((facts for facts in found if facts is not None), None)


def _content_type(answer: Answer) -> Facts | None:
    type = answer.header("Content-Type").partition(";")[0].strip().lower()
    if type == "application/json" or type.endswith("+json"):
        return None
    return {"type": f"labelled {sanitize(type)}" if type else "not labelled"}


def _charset(answer: Answer) -> Facts | None:
    charset = answer.response.headers.get_content_charset("")
    return None if charset in _UTF_8 else {"charset": sanitize(str(charset))}


def _byte_order_mark(answer: Answer) -> Facts | None:
    return {} if answer.response.body.startswith(_BYTE_ORDER_MARK) else None


def _added_fields(answer: Answer) -> Facts | None:
    known: Any = ERROR_FIELDS if "error" in answer.content else MODEL_LIST
    known = COMPLETION_FIELDS if answer.is_completion else known
    names = list(dict.fromkeys(added_fields(answer.content, known)))
    more = ", …" if len(names) > _SHOWN else ""
    return {"names": sanitize(", ".join(names[:_SHOWN]) + more)} if names else None


def _model(answer: Answer) -> Facts | None:
    model = answer.content.get("model")
    if not answer.is_completion or model == MODEL:
        return None
    return {"model": sanitize(str(model))}


def _id(answer: Answer) -> Facts | None:
    ids = answer.every(_ID)
    if not answer.is_completion or not ids or answer.content.get("id") in ids:
        return None
    return {}


def _bot_cookie(answer: Answer) -> Facts | None:
    names = [name for name in _cookies(answer) if _BOT_COOKIES.match(name)]
    return {"names": ", ".join(names)} if names else None


def _cached(answer: Answer) -> Facts | None:
    age = answer.header("Age").strip()
    if age.isascii() and age.isdigit() and age.strip("0"):
        return {"sign": f"Age: {sanitize(age)}"}
    for name in ("X-Cache", "CF-Cache-Status", "X-Cache-Status"):
        if _HIT.search(answer.header(name)):
            return {"sign": sanitize(f"{name}: {answer.header(name)}")}
    return None


def _old_version(answer: Answer) -> Facts | None:
    return {} if answer.response.version == _HTTP_1_0 else None


_LOOKS: dict[str, Look] = {
    "between.content_type": _content_type,
    "between.charset_label": _charset,
    "between.bom": _byte_order_mark,
    "between.fields_added": _added_fields,
    "between.model_changed": _model,
    "between.id_changed": _id,
    "between.bot_protection": _bot_cookie,
    "between.cached": _cached,
    "between.http_1_0": _old_version,
}


def _loses_id(answers: Iterable[Answer]) -> bool:
    """Return whether only successes lack the id by which an operator finds them."""
    accepted = {bool(one.header(_ID)) for one in answers if "error" not in one.content}
    refused = {bool(one.header(_ID)) for one in answers if "error" in one.content}
    return False in accepted and True in refused


def _traces(answers: Iterable[Answer]) -> Iterator[str]:
    """Yield what something in between has written into the headers."""
    for answer in answers:
        for name in ("Via", "Server"):
            if value := answer.header(name):
                yield sanitize(f"{name}: {value}")
        for cookie in _cookies(answer):
            yield f"a cookie ({cookie})"


def _cookies(answer: Answer) -> list[str]:
    values = answer.every("Set-Cookie")
    return [sanitize(value.partition("=")[0].strip()) for value in values]
