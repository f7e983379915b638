"""Passkeys and security keys (WebAuthn): what the browser is asked, and its answers.

Each of the purposes has its own challenge in the session, so an answer to one is no
answer to another: a login without a password needs a passkey that has verified its
user, a second factor does not. Everything in an answer may come from a hostile client.
"""

import json
from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from allauth.account.utils import url_str_to_user_pk, user_pk_to_url_str
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port

from readback.cabinet.account_rules import provider_is_only_way
from readback.cabinet.models import User

# Importing fido2 takes 0.06 s, for which no start should wait: the functions that few
# visits call import it.
if TYPE_CHECKING:
    from fido2.server import Fido2Server
    from fido2.webauthn import AttestedCredentialData, RegistrationResponse

Purpose = Literal["add", "login", "second factor", "confirm"]
_SESSION_PREFIX = "passkey:"
# Real credentials have about 500 bytes.
_MAX_STORED_BYTES = 8192
# What the parsers raise for an answer that is not what the browser should send.
_MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)


class PasskeyError(Exception):
    """The answer does not prove anything."""


# Where passkeys work


def is_available(request: HttpRequest) -> bool:
    """Return whether browsers offer passkeys at the address that the visitor uses."""
    host = _host(request)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    return settings.CABINET_URL.startswith("https:") and not _is_ip_address(host)


def can_log_in(request: HttpRequest) -> bool:
    """Return whether people may log in with a passkey instead of a password."""
    return is_available(request) and not provider_is_only_way()


def local_address(request: HttpRequest) -> str:
    """Return the address of this machine at which passkeys work; empty if not local.

    Browsers refuse passkeys for IP addresses, such as the default http://127.0.0.1.
    """
    host, port = _host(request), urlsplit(settings.CABINET_URL).port
    is_loopback = _is_ip_address(host) and ip_address(host).is_loopback
    is_known = "localhost" in settings.ALLOWED_HOSTS
    return f"http://localhost:{port}" if is_loopback and is_known else ""


# Requests to the browser


def creation_options(request: HttpRequest, account: User) -> dict[str, Any]:
    from fido2 import webauthn

    user = webauthn.PublicKeyCredentialUserEntity(
        id=user_pk_to_url_str(account).encode(),
        name=account.email,
        display_name=account.email,
    )
    # Preferred, not required: an older security key can do neither, and is then a
    # second factor beside the password.
    options, state = _server(request).register_begin(
        user,
        _credentials(account),
        resident_key_requirement=webauthn.ResidentKeyRequirement.PREFERRED,
        user_verification=webauthn.UserVerificationRequirement.PREFERRED,
        extensions={"credProps": True},
    )
    return _begin(request, "add", options, state)


def login_options(request: HttpRequest) -> dict[str, Any]:
    """Ask for any passkey of this site; it has to verify its user by PIN or finger."""
    from fido2 import webauthn

    options, state = _server(request).authenticate_begin(
        user_verification=webauthn.UserVerificationRequirement.REQUIRED
    )
    return _begin(request, "login", options, state)


def factor_options(
    request: HttpRequest, account: User, purpose: Purpose
) -> dict[str, Any]:
    from fido2 import webauthn

    options, state = _server(request).authenticate_begin(
        _credentials(account), webauthn.UserVerificationRequirement.PREFERRED
    )
    return _begin(request, purpose, options, state)


# Answers of the browser


def verified_credential(request: HttpRequest, answer: str) -> dict[str, Any]:
    """Return the credential of a new passkey, as allauth stores it."""
    from fido2 import webauthn

    state = _end(request, "add")
    try:
        given = json.loads(answer)
        data = _server(request).register_complete(state, given)
        parsed = webauthn.RegistrationResponse.from_dict(given)
        # Whether the browser says that the passkey can log in on its own.
        properties = given.get("clientExtensionResults", {}).get("credProps", {})
        return _stored(parsed, data, properties.get("rk") is True)
    except _MALFORMED:
        raise PasskeyError from None


def used_for_login(request: HttpRequest, answer: str) -> Authenticator:
    """Return the passkey, and with it the account, that logs in."""
    from fido2.utils import websafe_decode

    state = _end(request, "login")
    try:
        given = json.loads(answer)
        handle = websafe_decode(given["response"]["userHandle"]).decode()
        pk = url_str_to_user_pk(handle)  # type: ignore[no-untyped-call]
        return _used(request, state, User.objects.get(pk=pk), given)
    except (*_MALFORMED, User.DoesNotExist):
        raise PasskeyError from None


def used_as_factor(
    request: HttpRequest, account: User, purpose: Purpose, answer: str
) -> Authenticator:
    state = _end(request, purpose)
    try:
        return _used(request, state, account, json.loads(answer))
    except _MALFORMED:
        raise PasskeyError from None


def _begin(
    request: HttpRequest, purpose: Purpose, options: Any, state: Any
) -> dict[str, Any]:
    request.session[_SESSION_PREFIX + purpose] = state
    plain: dict[str, Any] = json.loads(json.dumps(dict(options), default=dict))
    return plain


def _end(request: HttpRequest, purpose: Purpose) -> Any:
    """Return the challenge, which can be answered once."""
    state = request.session.pop(_SESSION_PREFIX + purpose, None)
    if state is None:
        raise PasskeyError
    return state


def _used(
    request: HttpRequest, state: Any, account: User, given: dict[str, Any]
) -> Authenticator:
    known = {each.credential_id: (each, row) for each, row in _passkeys(account)}
    credentials = [each for each, _row in known.values()]
    used = _server(request).authenticate_complete(state, credentials, given)
    return known[used.credential_id][1]


def _stored(
    parsed: "RegistrationResponse", data: Any, is_discoverable: bool
) -> dict[str, Any]:
    """Return only what was checked, without a statement about the make of the key."""
    from fido2 import webauthn

    response = webauthn.AuthenticatorAttestationResponse(
        client_data=parsed.response.client_data,
        attestation_object=webauthn.AttestationObject.create("none", data, {}),
    )
    kept = webauthn.RegistrationResponse(
        raw_id=data.credential_data.credential_id, response=response
    )
    extensions = {"credProps": {"rk": is_discoverable}}
    values = {**kept, "clientExtensionResults": extensions}
    text = json.dumps(values, default=dict)
    if len(text) > _MAX_STORED_BYTES:
        raise PasskeyError
    plain: dict[str, Any] = json.loads(text)
    return plain


def _passkeys(
    account: User,
) -> "Iterator[tuple[AttestedCredentialData, Authenticator]]":
    kind = Authenticator.Type.WEBAUTHN
    for row in Authenticator.objects.filter(user=account, type=kind):
        passkey = row.wrap()
        yield passkey.authenticator_data.credential_data, row


def _credentials(account: User) -> "list[AttestedCredentialData]":
    return [credential for credential, _row in _passkeys(account)]


def _server(request: HttpRequest) -> "Fido2Server":
    from fido2.server import Fido2Server
    from fido2.webauthn import PublicKeyCredentialRpEntity

    # The host is one of ALLOWED_HOSTS, so it cannot be forged.
    site = PublicKeyCredentialRpEntity(id=_host(request), name=settings.BRAND.name)
    return Fido2Server(site)


def _host(request: HttpRequest) -> str:
    host, _port = split_domain_port(request.get_host())
    return host.strip("[]")


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
