"""Whether the probe sends the key to a service; docs/probe.md states the same rule.

A Readback key is sent only to a Readback server. Any other key has already been sent to
this address by the program that failed, so the probe sends it to an OpenAI-compatible
API, and once to anything else that asks for credentials, if no one else can receive it.
If the key is withheld, the report blames no one for a response that might have been
different with the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import urlsplit

from readback.probe.common.catalogue import say
from readback.probe.common.results import ProbeError
from readback.probe.connection import dns
from readback.probe.entered.base_url import is_loopback
from readback.probe.service import answers, instead
from readback.probe.transport.context import MODELS, ProbeContext
from readback.probe.transport.exchanges import ProbeResponse

# Authentication schemes that need a password, which API clients do not have.
_FOR_PASSWORDS = {"basic", "digest", "ntlm", "negotiate"}
# Findings for a 401 or 403 that may ask for a key: not a login page, filter or portal.
_ASKING = {
    *("http.sign_in", "http.other_api", "http.no_such_path"),
    *("between.forbidden", "proxy.responded"),
}
# Findings, with any status, that may change once the key is sent.
_WITHOUT_KEY = {
    *("http.login_wall", "http.sign_in"),
    *("between.forbidden", "http.rate_limited"),
}
_ABOUT_FORM = {HTTPStatus.BAD_REQUEST, *instead.OF_FORM}
# Words in a refusal that indicate a missing key.
_ABOUT_KEY = re.compile(
    r"\b(api|virtual|access|subscription)?[ _-]?key\b|token|credential|authoriz"
    "|authentic|bearer",
    re.IGNORECASE,
)


def asks(response: ProbeResponse) -> bool:
    """Return whether an unrecognized service may be asking for a key."""
    is_json = isinstance(response.json, (dict, list))
    status = response.status
    # xAI and Google refuse a missing key with 400.
    is_missed = status == HTTPStatus.BAD_REQUEST and misses_key(response)
    is_explained = is_json and (status == HTTPStatus.FORBIDDEN or is_missed)
    is_asking = status == HTTPStatus.UNAUTHORIZED or is_explained
    return is_asking and _judged(response).id in _ASKING


def depends_on_key(response: ProbeResponse) -> bool:
    """Return whether a gateway may give this answer only because there was no key."""
    judged = _judged(response)
    if response.proxy:  # The proxy may have answered.
        return asks(response)
    if judged.id == "http.redirect":  # It may redirect to a login page.
        location = str(judged.facts["location"])
        is_here = urlsplit(location).netloc == urlsplit(response.url).netloc
        return is_here and not location.endswith(MODELS)
    if judged.id == "between.blocked":
        return response.status == HTTPStatus.FORBIDDEN and not instead.blocks(response)
    if response.status in _ABOUT_FORM:
        # The body may be validated before the key is checked.
        is_validation = response.status == HTTPStatus.UNPROCESSABLE_ENTITY
        return is_validation or misses_key(response)
    return judged.id in _WITHOUT_KEY or asks(response)


def misses_key(response: ProbeResponse) -> bool:
    """Return whether a refusal of the request's form is about a missing key."""
    is_about_form = response.status in _ABOUT_FORM
    return is_about_form and _ABOUT_KEY.search(answers.words(response)) is not None


def accepts_consent(context: ProbeContext, response: ProbeResponse) -> bool:
    """Return whether the key may be sent to what is no page, redirect or 5xx."""
    is_error = response.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    is_redirect = 300 <= response.status < HTTPStatus.BAD_REQUEST
    is_other = is_error or is_redirect or answers.is_html(response)
    return context.is_key_released and not is_other


def kept(context: ProbeContext, response: ProbeResponse) -> ProbeError | None:
    """Return the error if the key must not be sent to the sender of this response."""
    key = context.usable_key
    is_page = answers.is_html(response) or response.status < HTTPStatus.BAD_REQUEST
    if key and key.is_readback_key:
        other = say("because_readback", said=_said(response))
        because = _password(response) or other
        advice = say("ask_for_access")
    else:
        has_consent = context.is_key_released and not is_page
        because = _reason(context, response) if key and not has_consent else ""
        advice = say("ask_for_access" if is_page else "send_with_chat")
    if because and because == _password(response):
        advice = say("except_password")
    elif because and _judged(response).id == "http.login_wall":
        because = say("because_login", said=_said(response))
        advice = say("pass_login")
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        wait = response.retry_after or say("a_few")
        advice = f"{say('wait_first', wait=wait)} {advice}"
    return ProbeError("key.kept", because=because, advice=advice) if because else None


def kept_from_host(context: ProbeContext) -> ProbeError | None:
    because = "" if context.is_key_released else next(_about_host(context), "")
    advice = say("send_with_chat")
    return ProbeError("key.kept", because=because, advice=advice) if because else None


def _judged(response: ProbeResponse) -> ProbeError:
    return instead.unexpected_response(response, is_recognized=False)


def _said(response: ProbeResponse) -> str:
    title = _judged(response).facts.get("title") or answers.words(response)
    return f"{response.status} {title}".rstrip()


def _password(response: ProbeResponse) -> str:
    offered = response.headers.get_all("WWW-Authenticate", [])
    schemes = [value.split()[0].strip(",") for value in offered if value.strip()]
    is_only = schemes and _FOR_PASSWORDS.issuperset(map(str.lower, schemes))
    return say("because_password", schemes=", ".join(schemes)) if is_only else ""


def _reason(context: ProbeContext, response: ProbeResponse) -> str:
    if not asks(response):
        return say("because_refused", said=_said(response))
    if because := _password(response):
        return because
    if because := next(_about_host(context), ""):
        return because
    base_url = context.base_url
    proxy = context.route.proxy
    is_private = is_loopback(base_url.host) and not proxy
    return "" if base_url.is_encrypted or is_private else say("because_unencrypted")


def _about_host(context: ProbeContext) -> Iterator[str]:
    host = context.base_url.host
    if is_loopback(host):
        return
    if context.is_host_corrected:
        yield say("because_corrected", host=host)
    if near := dns.meant(host):
        yield say("because_similar", host=host, near=near)
