"""What is in between: which programs it lets through, and what it changes.

`asking_as_others` explains a failed step: if something else than the service responds,
the request is repeated as other programs would send it. The steps "User-Agent" and
"Expect" are the other way round: the probe gets through, and others may not. They ask
for an unknown path, which every service can refuse without a key. The step "in between"
sends nothing: it looks at what surrounds the text in the responses of earlier steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from readback.contract import MODEL, MODEL_LIST
from readback.probe.common.background import BackgroundCall
from readback.probe.common.formatting import listed, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.diagnoses import TEMPLATES, diagnose
from readback.probe.service import answers
from readback.probe.transport.context import UNKNOWN, Check, Explain, ProbeContext
from readback.probe.transport.exchanges import ProbeResponse, outcome_of

# What is in between may leave a program waiting; a patient request then tells.
_BRIEFLY = 3.0
_EXPECT = {"Expect": "100-continue"}
OWN, OPENAI = "this program", "the openai package"
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
    "a browser": {
        "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 "
        "(KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language": "en-US,en;q=0.9",
    },
}

# The results that a block by User-Agent can have.
_DOUBTFUL = {
    *("between.blocked", "between.challenge", "between.other_response"),
    *("between.rate_limited", "gateway.blocks", "key.other_refusal", "proxy.responded"),
    *("http.cut", "http.cut_short", "http.gateway", "http.html", "http.other"),
    *("http.other_api", "http.proxy_page", "http.redirect"),
}


def asking_as_others(check: Check) -> Explain:
    """Return what runs a step as other programs after a result that is doubtful."""

    def ask(context: ProbeContext, doubtful: ProbeError) -> list[Diagnosis]:
        if doubtful.id not in _DOUBTFUL or context.identity:
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
                tried = f" Asking as {listed(OTHERS)} makes no difference."
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
        return diagnose("between.programs_pass", programs=listed(OTHERS))
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
    id = "between.program_blocked"
    if OPENAI in blocked:
        id = "between.openai_blocked"
    elif OWN in blocked:
        id = "between.probe_blocked"
    names = {"blocked": listed(blocked), "passed": listed(passed), "used": passed[0]}
    return diagnose(id, **names, how=how)


def _foreign_answer(
    context: ProbeContext,
    headers: Mapping[str, str],
    body: bytes | None = None,
    identity: Mapping[str, str] | None = None,
    *,
    is_patient: bool = False,
) -> str:
    """Return how the request is answered if not by the service, else nothing.

    On a busy machine the service may be late; only a patient request tells for sure.
    """
    path = f"{context.base_url.path}{UNKNOWN}"
    patience = None if is_patient else _BRIEFLY
    try:
        with context.new_client(patience=patience, identity=identity) as client:
            response = client.request(path, body=body, headers=headers)
    except ProbeError as error:
        if error.id.startswith("skipped."):
            raise
        return outcome_of(error)
    return "" if answers.parse_refusal(response) else f"status {response.status}"


def check_expect(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    # A step beside this one may go on as another program; all requests are of one.
    identity = dict(context.identity)
    ask = partial(_foreign_answer, context, body=b"{}", identity=identity)
    how = ask(_EXPECT)
    if how and ask({}, is_patient=True):
        return []  # The header makes no difference; other steps tell more.
    # Once may be chance.
    if how := how and ask(_EXPECT, is_patient=True):
        return diagnose("between.expect_refused", how=how)
    return diagnose("between.expect_ok")


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


def check_changes(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    received = [
        one
        for one in context.responses
        if isinstance(one.json, dict)
        and one.status < HTTPStatus.INTERNAL_SERVER_ERROR
        and one.json.keys() & {"choices", "data", "error"}
    ]
    found: dict[str, dict[str, Fact]] = {}
    for response in received:
        for id, facts in _changes(response):
            found.setdefault(id, facts)
    completions = [one.json for one in received if "choices" in one.json]
    moments = [one["created"] for one in completions if "created" in one]
    if len(moments) > 2 and all(one == moments[0] for one in moments):
        same = f"created is the same in {len(moments)} responses"
        found.setdefault("between.fields_changed", {"changes": same})
    ids = sorted(found, key=list(TEMPLATES).index)
    findings = [diagnose(id, figure="", **found[id]) for id in ids]
    # Without it in successes alone, an operator finds only failures.
    named = {("error" in one.json, bool(one.headers.get(_ID))) for one in received}
    if {(False, False), (True, True)} <= named:
        findings.append(diagnose("between.request_id_removed"))
    if findings:
        return findings
    if seen := ", ".join(dict.fromkeys(_traces(received))):
        return diagnose("between.seen", seen=seen)
    return diagnose("between.unchanged")


def _changes(response: ProbeResponse) -> Iterator[tuple[str, dict[str, Fact]]]:
    """Yield the id and the facts of everything that was changed in a response."""
    content, headers = response.json, response.headers
    is_completion = "choices" in content
    type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if type != "application/json" and not type.endswith("+json"):
        label = f"labelled {sanitize(type)}" if type else "not labelled"
        yield "between.content_type", {"type": label}
    # Not with the parser of `email`, which takes quadratic time.
    named = _CHARSET.search(headers.get("Content-Type", "")[:_SEARCHED_LENGTH])
    charset = named[1].lower() if named else ""
    if charset not in _UTF_8:
        yield "between.charset_label", {"charset": sanitize(charset)}
    if response.body.startswith(_BYTE_ORDER_MARK):
        yield "between.bom", {}
    known: Any = answers.ERROR_FIELDS if "error" in content else MODEL_LIST
    known = answers.COMPLETION if is_completion else known
    if names := list(dict.fromkeys(answers.added_fields(content, known))):
        more = ", …" if len(names) > _SHOWN else ""
        shown = sanitize(", ".join(names[:_SHOWN]) + more)
        yield "between.fields_added", {"names": shown}
    if is_completion and (faults := answers.completion_faults(content)):
        yield "between.fields_changed", {"changes": "; ".join(faults[:_SHOWN])}
    if is_completion and (model := content.get("model")) != MODEL:
        yield "between.model_changed", {"model": sanitize(str(model))}
    ids = headers.get_all(_ID, [])
    if is_completion and ids and content.get("id") not in ids:
        yield "between.id_changed", {}
    if names := [name for name in _cookies(response) if _BOT_COOKIES.match(name)]:
        yield "between.bot_protection", {"names": ", ".join(names)}
    age = headers.get("Age", "").strip()
    if age.isascii() and age.isdigit() and age.strip("0"):
        yield "between.cached", {"sign": f"Age: {sanitize(age)}"}
    for name in ("X-Cache", "CF-Cache-Status", "X-Cache-Status"):
        if _HIT.search(value := headers.get(name, "")):
            sign = sanitize(f"{name}: {value}")
            yield "between.cached", {"sign": sign}
    if response.version == _HTTP_1_0:
        yield "between.http_1_0", {}


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
            yield f"a cookie ({cookie})"
