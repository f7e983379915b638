"""Diagnoses of an OpenAI-compatible endpoint that is not a Readback."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import ok, rows

entered, machine, proxy, service = rows(
    FailureFamily.HTTP, Culprit.INPUT, Culprit.MACHINE, Culprit.PROXY, Culprit.SERVICE
)

_ASK_FOR_COMPLETION = "To find out, ask for a short completion with --chat MODEL."
_TAKEN = "The first part took {first}, all {parts} parts took {total}."

ENDPOINT = (
    ok(
        "endpoint.open",
        "The models are listed without a key: the service needs none, or checks it "
        "only for completions. Key sent to: {sent_to}.",
    ),
    entered.warn(
        "endpoint.no_models",
        "The service has no list of models ({status}), so it is unknown whether it "
        "accepts the key.",
        "Compare the address with the service's documentation. " + _ASK_FOR_COMPLETION,
    ),
    entered.fail(
        "endpoint.forbidden",
        "The service refuses the request with 403: {detail}",
        "The key may lack a permission, or the service is not offered in this country "
        "or to this network. Key sent to: {sent_to}.",
        family=FailureFamily.KEY,
    ),
    entered.fail(
        "endpoint.quota",
        "The account of the key has no quota left ({status}): {detail}",
        "Check the balance and the limits of the account at the provider.",
        family=FailureFamily.KEY,
    ),
    machine.fail(
        "endpoint.rate_limited",
        "The service reports too many requests: {detail}",
        "Another program uses the same key or network address. Wait {wait} s and try "
        "again.",
    ),
    service.fail(
        "endpoint.unavailable",
        "The service responded with {status}: {detail}",
        "It is overloaded, starting or failing. Try again, then tell its operator.",
    ),
    entered.fail(
        "endpoint.refused",
        "The service refused the request with {status}: {detail}",
        "Compare the address and the model with the service's documentation.",
    ),
    ok("models.listed", "{count} models are listed: {names}."),
    ok("models.has_model", "The model {model} is listed, one of {count}."),
    entered.warn(
        "models.no_model",
        "The model {model} is not listed. Similar names: {near}.",
        "Compare the name letter by letter. A service may offer models that it does "
        "not list.",
    ),
    service.warn(
        "models.unreadable",
        "The list of models cannot be read: it has another form or more than 1 MiB.",
        "It is unknown which models there are; completions are not affected.",
    ),
    service.warn(
        "models.form",
        "The list of models is a bare list, not an object with `data`.",
        "Programs that use an OpenAI library to list models fail here; completions are "
        "not affected.",
    ),
    ok(
        "chat.completed",
        "The model completed a text: {prompt_tokens} tokens sent, {completion_tokens} "
        "received.",
    ),
    ok(
        "chat.unmeasured",
        "The model completed a text; the response does not say how many tokens it "
        "took.",
    ),
    service.fail(
        "chat.form",
        "The response to a request for a completion is not a completion.",
        "Programs that use an OpenAI library cannot read it. Compare the address with "
        "the service's documentation.",
    ),
    entered.fail(
        "chat.no_model",
        "The service does not offer the model {model}. Similar names: {near}.",
        "Use a name from the list of models; the key may also lack access to it.",
    ),
    entered.fail(
        "chat.no_path",
        "The address has no chat completions ({status}).",
        "Compare the path of the address with the service's documentation.",
    ),
    ok("stream.ok", "The stream arrived in parts and was complete. " + _TAKEN),
    proxy.warn(
        "stream.together",
        "All {parts} parts of the stream arrived together, after {total}.",
        "A proxy or gateway collects the response before it passes it on. Turn off "
        "response buffering there, such as `proxy_buffering` in nginx.",
    ),
    service.warn(
        "stream.ignored",
        "The service ignores `stream` and responds in one piece.",
        "Programs that show the text while it arrives wait for the whole of it, or "
        "fail.",
    ),
    service.warn(
        "stream.unfinished",
        "The stream ended without its last line, [DONE]. " + _TAKEN,
        "Programs that wait for that line report an error. A proxy with a time limit "
        "may have ended the response, or the service does not send the line.",
    ),
    service.fail(
        "stream.error",
        "The stream contains an error: {detail}",
        "Try again, then tell the operator of the service.",
    ),
    service.fail(
        "stream.form",
        "The response to a request for a stream contains no part of a completion.",
        "Programs that use an OpenAI library cannot read it. Look for a proxy that "
        "changes responses.",
    ),
)
