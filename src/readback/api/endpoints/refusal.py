"""Check a body against every rule of the contract, and explain in one line what is
wrong.

The checks run in the order of the table in docs/contract.md; the first finding decides
the code. No finding quotes the text or a key. The line becomes a header, so it is
printable ASCII. It ends with advice for the program that sent the request, if the
program is known.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from readback import contract
from readback.api.endpoints.strict_json import NotJson, Number, load
from readback.differences import ADVICE, UNNAMED
from readback.keys import KEY_LIKE
from readback.programs import ADVICE_LENGTH, advise

_SYSTEM_ROLES = ("system", "developer")
_OTHER_ROLES = (*_SYSTEM_ROLES, "assistant", "tool")
# No body has room for more messages.
_MOST_MESSAGES = contract.MAX_BODY_BYTES // len('{"role":"user","content":"x"},')
# A field name of this form is stored as the id of a difference.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]{1,40}")
# A body may have thousands of unknown fields; further ones are only counted.
_MAX_DIFFERENCES = 50
_MAX_TOKENS: Number = str(contract.MAX_TOKENS).encode()
# Field names and model ids are only quoted if they have this form.
_QUOTABLE = re.compile(r"[A-Za-z0-9_.:/-]{1,40}")
_MAX_QUOTED_DIGITS = 20
# A longer string is never quoted, even if it is almost right.
_MOST_SHOWN = 60
# A list spells out at most this many names.
_MOST_NAMED = 8


class Finding(NamedTuple):
    code: str
    differences: tuple[str, ...]
    sentence: str

    @property
    def short(self) -> str:
        """The sentence without its explanation, for lists."""
        return self.sentence.partition(": ")[0].removesuffix(".").replace("; ", ", ")


def examine(body: bytes) -> str | list[Finding]:
    """Return the text if the body follows every rule, otherwise the findings."""
    try:
        request = load(body)
    except NotJson as error:
        sentence = f"The body is not valid JSON in UTF-8: {error}."
        difference = "json" if body.strip() else "body.empty"
        return [Finding("invalid_json", (difference,), sentence)]
    if not isinstance(request, dict):
        rule = "The body must be a JSON object"
        return [_wrong_value("invalid_json", "json", rule, _kind(request))]
    findings = list(_check_request(request))
    return findings or str(request["messages"][0]["content"])


def _check_request(request: dict[str, Any]) -> Iterator[Finding]:
    yield from _check_names(
        request, contract.REQUEST_FIELDS, contract.REQUIRED_FIELDS, "the body"
    )
    if "model" in request:
        model = request["model"]
        if model != contract.MODEL:
            got = model if _is_quotable(model) else _got(model, contract.MODEL)
            rule = f"model must be {contract.MODEL}"
            yield _wrong_value("invalid_model", "model", rule, got)
    if "messages" in request:
        yield from _check_messages(request["messages"])
    if "stream" in request and request["stream"] is not False:
        value = request["stream"]
        difference = "stream" if value is True else "stream.kind"
        got = _got(value, "false")
        rule = "stream must be false or omitted"
        yield _wrong_value("stream_unavailable", difference, rule, got)
    if "max_tokens" in request:
        value = request["max_tokens"]
        if value != _MAX_TOKENS:
            got = _got(value, str(contract.MAX_TOKENS))
            rule = f"max_tokens must be the integer {contract.MAX_TOKENS} or omitted"
            yield _wrong_value("invalid_max_tokens", "max_tokens", rule, got)


def _check_names(
    found: dict[str, Any],
    known: Sequence[str],
    required: Sequence[str],
    where: str,
    path: str = "",
) -> Iterator[Finding]:
    if unknown := [name for name in found if name not in known]:
        verb = "is" if len(unknown) == 1 else "are"
        yield Finding(
            "unknown_field",
            tuple(_difference(name, path) for name in unknown[:_MAX_DIFFERENCES]),
            f"{_fields(unknown, path)} {verb} not accepted: {where} may only "
            f"contain {_joined(known)}.",
        )
    if missing := [name for name in required if name not in found]:
        verb = "is" if len(missing) == 1 else "are"
        yield Finding(
            "missing_field",
            tuple(_difference(name, path) for name in missing),
            f"{_fields(missing, path)} {verb} missing.",
        )


def _difference(name: str, path: str) -> str:
    if not (_PLAIN_NAME.fullmatch(name) and _is_quotable(name)):
        return UNNAMED
    return f"message.{name}" if path else name


def _check_messages(messages: Any) -> Iterator[Finding]:
    if not isinstance(messages, list):
        yield _wrong_number(("messages",), _kind(messages))
        return
    if not 0 < len(messages) <= _MOST_MESSAGES:
        yield _wrong_number(("messages",), str(len(messages)))
        return
    roles = [each.get("role") if isinstance(each, dict) else None for each in messages]
    kept = _kept(roles)
    if len(roles) > 1:
        yield _wrong_number(*_surplus(roles, kept))
    yield from _check_message(messages[kept], f"messages[{kept}]")


def _kept(roles: list[Any]) -> int:
    """Return the index of the message that the client should keep."""
    last = len(roles) - 1
    return last - roles[::-1].index(contract.ROLE) if contract.ROLE in roles else last


def _surplus(roles: list[Any], kept: int) -> tuple[tuple[str, ...], str]:
    """Return the ids for the surplus messages, and the message count with reasons."""
    others = roles[:kept] + roles[kept + 1 :]
    system = sum(others.count(role) for role in _SYSTEM_ROLES)
    differences = []
    reasons = []
    if system:
        differences.append("messages.system")
        reasons.append("a system prompt is not accepted")
    if len(others) > system:
        differences.append("messages.history")
        reasons.append("earlier messages are not accepted")
    return tuple(differences), f"{len(roles)} ({', and '.join(reasons)})"


def _wrong_number(differences: tuple[str, ...], got: str) -> Finding:
    sentence = f"messages must be an array of exactly 1 message; got {got}."
    return Finding("invalid_messages", differences, sentence)


def _check_message(message: Any, path: str) -> Iterator[Finding]:
    if not isinstance(message, dict):
        rule = f"{path} must be an object"
        yield _wrong_value("invalid_messages", "messages", rule, _kind(message))
        return
    names = contract.MESSAGE_FIELDS
    yield from _check_names(message, names, names, "a message", f"{path}.")
    role = message.get("role", contract.ROLE)
    if role != contract.ROLE:
        got = role if role in _OTHER_ROLES else _got(role, contract.ROLE)
        rule = f"{path}.role must be {contract.ROLE}"
        yield _wrong_value("invalid_role", "message.role", rule, got)
    if "content" not in message:
        return
    content = message["content"]
    if not isinstance(content, str):
        rule = f"{path}.content must be a string"
        yield _wrong_value("invalid_content", "message.content", rule, _kind(content))
    elif not content:
        sentence = f"{path}.content is empty."
        yield Finding("empty_content", ("message.empty",), sentence)
    elif (size := len(content.encode())) > (limit := contract.MAX_CONTENT_BYTES):
        rule = f"{path}.content may have at most {limit} bytes in UTF-8"
        yield _wrong_value("content_too_large", "message.too_large", rule, str(size))


def _wrong_value(code: str, difference: str, rule: str, got: str) -> Finding:
    return Finding(code, (difference,), f"{rule}; got {got}.")


class Explanation(NamedTuple):
    code: str
    detail: str
    # The ids of all differences, separated by spaces.
    differences: str


def explain(findings: Sequence[Finding], user_agent: str) -> Explanation:
    """Combine the findings into one line, with advice for the program."""
    first, *others = findings
    found = dict.fromkeys(id_ for finding in findings for id_ in finding.differences)
    # Unknown fields come last, because their long names might displace other
    # differences.
    ids = sorted(found, key=lambda each: each not in ADVICE)
    hint = advise(user_agent, ids, connected=True)
    also = f"Also: {'; '.join(other.short for other in others)}." if others else ""
    # Only made-up requests have this many mistakes in fields with such long names.
    if len(f"{first.sentence} {also} ") > contract.MAX_DETAIL_LENGTH - ADVICE_LENGTH:
        also = f"Also: {len(others)} more."
    detail = " ".join(filter(None, (first.sentence, also, hint)))
    stored = " ".join(ids)
    if len(stored) > contract.JOURNAL_DIFFERENCES_LENGTH:
        stored = stored[: contract.JOURNAL_DIFFERENCES_LENGTH + 1].rpartition(" ")[0]
    return Explanation(first.code, detail, stored)


def _is_quotable(word: Any) -> bool:
    if not isinstance(word, str) or not _QUOTABLE.fullmatch(word):
        return False
    return not KEY_LIKE.search(word)


def _got(value: Any, wanted: str) -> str:
    """Describe a value; quote it only if it is a string that is almost right."""
    if not isinstance(value, str) or len(value) > _MOST_SHOWN:
        return _kind(value)
    bare = "".join(c for c in value if c.isprintable() and not c.isspace())
    is_close = bare.lower() == wanted.lower()
    return f"the string {json.dumps(value)}" if is_close else _kind(value)


def _kind(value: Any) -> str:
    """Describe a value without quoting it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Number):
        return value.decode() if len(value) <= _MAX_QUOTED_DIGITS else "a number"
    if isinstance(value, str):
        noun = "character" if len(value) == 1 else "characters"
        return f"a string of {len(value)} {noun}"
    return "an array" if isinstance(value, list) else "an object"


def _fields(names: Sequence[str], path: str) -> str:
    """Return the subject of a sentence, such as "The field temperature"."""
    quotable = [path + name for name in names[:_MAX_DIFFERENCES] if _is_quotable(name)]
    shown = quotable[:_MOST_NAMED]
    if left := len(names) - len(shown):
        shown.append(f"{left} more" if shown else "with an unusual name")
    noun = "field" if len(names) == 1 else "fields"
    return f"The {noun} {_joined(shown)}"


def _joined(words: Sequence[str]) -> str:
    """Join words as in a sentence: "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
