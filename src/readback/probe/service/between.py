"""What is in between: which programs it lets through, and what it changes.

`asking_as_others` explains a failed step: if something else than the service responds,
the request is repeated as other programs would send it. The step "User-Agent" is the
other way round: the probe gets through, and others may not. It asks for an unknown
path, which every service can refuse without a key. The step "in between" sends nothing:
it looks at what surrounds the text in the responses of earlier steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from readback.contract import MODEL, MODEL_LIST
from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import diagnose, has_tag, say
from readback.probe.common.formatting import listed, sanitize
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.service import answers
from readback.probe.transport.context import UNKNOWN, Check, Explain, ProbeContext
from readback.probe.transport.exchanges import ProbeResponse, outcome_of

# What is in between may leave a program waiting; a patient request then tells.
_BRIEFLY = 3.0
OWN, OPENAI = "this_program", "the_openai_package"
# Other programs and the headers by which they are known.
OTHERS: dict[str, Mapping[str, str]] = {
    OPENAI: {
        "User-Agent": "OpenAI/Python 3.49.0",
        "X-Stainless-Lang": "python",
        "X-Stainless-Package-Version": "3.49.0",
        "X-Stainless-OS": "Linux",
        "X-Stainless-Arch": "x64",
        "X-Stainless-Runtime": "CPython",
        "X-Stainless-Runtime-Version": "3.12.1",
        "X-Stainless-Async": "false",
        "X-Stainless-Retry-Count": "0",
    },
    "curl": {"User-Agent": "curl/8.14.1", "Accept": "*/*"},
    "a_browser": {
        "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 "
        "(KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language": "en-US,en;q=0.9",
    },
}


def asking_as_others(check: Check) -> Explain:
    """Return what runs a step as other programs after a result that is doubtful."""

    def ask(context: ProbeContext, doubtful: ProbeError) -> list[Diagnosis]:
        if not has_tag(doubtful.id, "doubtful") or context.identity:
            raise doubtful
        results: dict[str, list[Diagnosis]] = {}
        for name, headers in OTHERS.items():
            context.close()  # What blocks one request may block its connection.
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

    return ask


def check_agents(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    """Ask for an unknown path, without the key, as other programs would."""
    if context.identity:
        return []  # An earlier step has asked already.
    own = partial(_foreign_answers, context, [OWN], is_patient=True)
    foreign = _foreign_answers(context, OTHERS)
    if foreign:
        # It may be chance, or a limit of the rate: ask again, between own requests.
        if own():
            return []
        foreign = _foreign_answers(context, foreign, is_patient=True)
    if not foreign:
        return []
    if own():
        return []
    passed = [OWN, *(name for name in OTHERS if name not in foreign)]
    return _blocked(passed, next(iter(foreign.values())))


def _foreign_answers(
    context: ProbeContext, programs: Iterable[str], *, is_patient: bool = False
) -> dict[str, str]:
    """Ask as these programs, side by side; return the answers not of the service."""
    ask = partial(_foreign_answer, context, is_patient=is_patient)
    headers = {OWN: {}, **OTHERS}
    calls = {name: BackgroundCall(partial(ask, headers[name])) for name in programs}
    return {name: answer for name, call in calls.items() if (answer := call.result())}


def _blocked(passed: Sequence[str], how: str) -> Diagnosis:
    blocked = [name for name in (OWN, *OTHERS) if name not in passed]
    id = "between.openai_blocked" if OPENAI in blocked else "between.program_blocked"
    names = {"blocked": _shown(blocked), "passed": _shown(passed)}
    return diagnose(id, **names, used=say(passed[0]), how=how)


def _shown(names: Iterable[str]) -> str:
    return listed(map(say, names))


def _foreign_answer(
    context: ProbeContext,
    headers: Mapping[str, str],
    *,
    is_patient: bool = False,
) -> str:
    """Return how the request is answered if not by the service, else nothing.

    On a busy machine the service may be late; only a patient request tells for sure.
    """
    path = f"{context.base_url.path}{UNKNOWN}"
    patience = None if is_patient else _BRIEFLY
    try:
        with context.new_client(patience=patience) as client:
            response = client.request(path, headers=headers)
    except ProbeError as error:
        if error.id.startswith("skipped."):
            raise
        return outcome_of(error)
    is_own = answers.parse_refusal(response)
    return "" if is_own else say("with_status", status=response.status)


_ID = "X-Request-Id"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_8 = {"", "utf-8", "utf8"}
_CHARSET = re.compile(r";\s{0,9}charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_SEARCHED_LENGTH = 1000
# The cookies by which common bot protections tell their visitors apart.
_BOT_COOKIES = re.compile(
    r"__cf_bm|cf_clearance|datadome|_abck|bm_s[vz]|ak_bmsc|incap_ses|visid_incap"
    r"|aws-waf-token|reese84|_px",
    re.IGNORECASE,
)
_HIT = re.compile(r"\bhit\b", re.IGNORECASE)
_HTTP_1_0 = 10
_SHOWN = 5
_CACHES = ("X-Cache", "CF-Cache-Status", "X-Cache-Status")


def check_changes(context: ProbeContext) -> Diagnosis:
    received = [
        one
        for one in context.responses
        if isinstance(one.json, dict)
        and one.status < HTTPStatus.INTERNAL_SERVER_ERROR
        and one.json.keys() & {"choices", "data", "error"}
        # What something else refuses is a finding of the step that it refuses.
        and ("error" not in one.json or answers.parse_refusal(one))
    ]
    found: dict[str, bool] = {}
    for response in received:
        for change, is_serious in _changes(response):
            found.setdefault(change, is_serious)
    completions = [one.json for one in received if "choices" in one.json]
    moments = [one["created"] for one in completions if "created" in one]
    if len(moments) > 2 and all(one == moments[0] for one in moments):
        found[say("same_time")] = True
    if found:
        changes = "; ".join(list(found)[:_SHOWN])
        id = "between.changed" if any(found.values()) else "between.touched"
        return diagnose(id, changes=changes)
    seen = ", ".join(dict.fromkeys(_traces(received)))
    through = say("through_something", seen=seen) if seen else ""
    return diagnose("between.unchanged", seen=through)


def _changes(response: ProbeResponse) -> Iterator[tuple[str, bool]]:
    """Yield how to tell each change in a response, and whether programs fail then."""
    content, headers = response.json, response.headers
    is_completion = "choices" in content
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        label = sanitize(kind) or say("missing")
        yield (
            say("other_content_type", type=label),
            True,
        )
    # Not with the parser of `email`, which takes quadratic time.
    named = _CHARSET.search(headers.get("Content-Type", "")[:_SEARCHED_LENGTH])
    charset = named[1].lower() if named else ""
    if charset not in _UTF_8:
        yield (
            say("other_charset", charset=charset),
            False,
        )
    if response.body.startswith(_BYTE_ORDER_MARK):
        yield say("byte_order_mark"), False
    if coding := headers.get("Content-Encoding", "").strip():
        yield say("are_compressed", coding=sanitize(coding)), False
    known: Any = answers.ERROR_FIELDS if "error" in content else MODEL_LIST
    known = answers.COMPLETION if is_completion else known
    if names := list(dict.fromkeys(answers.added_fields(content, known))):
        shown = sanitize(", ".join(names[:_SHOWN]))
        yield say("fields_added", names=shown), False
    wrong = answers.completion_faults(content) if is_completion else []
    if is_completion and content.get("model") != MODEL:
        model = sanitize(str(content.get("model")))
        yield say("other_model", model=model), False
    if wrong:
        shown = sanitize(", ".join(wrong[:_SHOWN]))
        yield say("fields_differ", names=shown), True
    ids = headers.get_all(_ID, [])
    if not ids:
        yield say("header_missing", name=_ID), False
    elif is_completion and content.get("id") not in ids:
        yield say("other_id", name=_ID), False
    if "error" in content and "X-Error-Detail" not in headers:
        yield say("header_missing", name="X-Error-Detail"), False
    if names := [name for name in _cookies(response) if _BOT_COOKIES.match(name)]:
        shown = ", ".join(names)
        yield say("bot_cookies", names=shown), False
    age = headers.get("Age", "").strip()
    caches = [headers.get(one, "") for one in _CACHES]
    if (age.isascii() and age.isdigit() and age.strip("0")) or _HIT.search(
        " ".join(caches)
    ):
        yield say("cache_answers_requests"), True
    if response.version == _HTTP_1_0:
        yield say("http_1_0"), False


def _cookies(response: ProbeResponse) -> list[str]:
    values = map(str, response.headers.get_all("Set-Cookie", []))
    return [sanitize(value.partition("=")[0].strip()) for value in values]


def _traces(received: Iterable[ProbeResponse]) -> Iterator[str]:
    """Yield what something in between has written into the headers."""
    for response in received:
        for name in ("Via", "Server"):
            if value := response.headers.get(name):
                yield sanitize(f"{name}: {value}")
        for cookie in _cookies(response):
            yield say("cookie", name=cookie)
