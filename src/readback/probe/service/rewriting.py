"""The step "in between": what was changed in the responses of the earlier steps.

No request is sent for it. A changed text is the finding of the step "echo"; here it is
what surrounds the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from readback.contract import MODEL, MODEL_LIST
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, Fact
from readback.probe.diagnoses import TEMPLATES, diagnose
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


def check(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    parsed = ((one, parse_json(one.body)) for one in context.responses)
    answers = [
        Answer(response, content)
        for response, content in parsed
        if isinstance(content, dict) and content.keys() & {"choices", "data", "error"}
    ]
    found: dict[str, Facts] = {}
    for answer in answers:
        for id, facts in _changes(answer):
            found.setdefault(id, facts)
    order = list(TEMPLATES)
    findings = [
        diagnose(id, figure="", **found[id]) for id in sorted(found, key=order.index)
    ]
    # Without it in successes alone, an operator finds only failures.
    accepted = {bool(one.header(_ID)) for one in answers if "error" not in one.content}
    refused = {bool(one.header(_ID)) for one in answers if "error" in one.content}
    if False in accepted and True in refused:
        findings.append(diagnose("between.request_id_removed"))
    if findings:
        return findings
    if seen := ", ".join(dict.fromkeys(_traces(answers))):
        return diagnose("between.seen", seen=seen)
    return diagnose("between.unchanged")


def _changes(answer: Answer) -> Iterator[tuple[str, Facts]]:
    """Yield the id and the facts of everything that was changed in a response."""
    response, content = answer
    type = answer.header("Content-Type").partition(";")[0].strip().lower()
    if type != "application/json" and not type.endswith("+json"):
        label = f"labelled {sanitize(type)}" if type else "not labelled"
        yield "between.content_type", {"type": label}
    charset = str(response.headers.get_content_charset(""))
    if charset not in _UTF_8:
        yield "between.charset_label", {"charset": sanitize(charset)}
    if response.body.startswith(_BYTE_ORDER_MARK):
        yield "between.bom", {}
    known: Any = ERROR_FIELDS if "error" in content else MODEL_LIST
    known = COMPLETION_FIELDS if answer.is_completion else known
    if names := list(dict.fromkeys(added_fields(content, known))):
        more = ", …" if len(names) > _SHOWN else ""
        shown = sanitize(", ".join(names[:_SHOWN]) + more)
        yield "between.fields_added", {"names": shown}
    if answer.is_completion and (model := content.get("model")) != MODEL:
        yield "between.model_changed", {"model": sanitize(str(model))}
    ids = answer.every(_ID)
    if answer.is_completion and ids and content.get("id") not in ids:
        yield "between.id_changed", {}
    if names := [name for name in _cookies(answer) if _BOT_COOKIES.match(name)]:
        yield "between.bot_protection", {"names": ", ".join(names)}
    age = answer.header("Age").strip()
    if age.isascii() and age.isdigit() and age.strip("0"):
        yield "between.cached", {"sign": f"Age: {sanitize(age)}"}
    for name in ("X-Cache", "CF-Cache-Status", "X-Cache-Status"):
        if _HIT.search(answer.header(name)):
            sign = sanitize(f"{name}: {answer.header(name)}")
            yield "between.cached", {"sign": sign}
    if response.version == _HTTP_1_0:
        yield "between.http_1_0", {}


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
