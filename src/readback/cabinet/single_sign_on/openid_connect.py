"""allauth's OpenID Connect client, with more checks and fewer requests.

It takes the configuration from memory, and keeps nothing of what the provider tells but
who the person is; what follows from that is in `login.py`. allauth neither sends a
nonce nor verifies the signature of a token that it got from the token endpoint itself,
and without a token it trusts the userinfo alone. Here every token is needed and checked
in full, by the rules of OpenID Connect Core 1.0, section 3.1.3.7.
"""

import time
from hmac import compare_digest
from typing import Any
from urllib.parse import urljoin

import jwt
from allauth.account.models import EmailAddress
from allauth.socialaccount import app_settings
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import (
    OpenIDConnectProvider,
)
from allauth.socialaccount.providers.openid_connect.views import (
    OpenIDConnectOAuth2Adapter,
)
from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import get_random_string
from requests import RequestException

from readback.cabinet.account_rules import CALLBACK_PATH
from readback.cabinet.single_sign_on import provider_documents
from readback.cabinet.single_sign_on.provider_documents import (
    BoundedSession,
    ProviderError,
)
from readback.cabinet.single_sign_on.services import AGAIN, LEEWAY_SECONDS

_NONCE_LENGTH = 32
# Only signatures with a private key. "none" proves nothing, and for the HS family the
# key would be the client secret.
_ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
    | {"ES256", "ES384", "ES512", "EdDSA"}
)


class CabinetClient(OpenIDConnectOAuth2Adapter):
    """The requests of one login."""

    # What the session remembers of the way to the provider.
    state: dict[str, Any] = {}

    @property
    def openid_config(self) -> dict[str, Any]:
        return provider_documents.configuration(self.provider_id)

    @property
    def basic_auth(self) -> bool:  # type: ignore[override]
        """Return whether the token endpoint wants the secret in a header."""
        field = "token_endpoint_auth_methods_supported"
        # The default is the standard's; allauth's is the other one.
        methods = self.openid_config.get(field, ["client_secret_basic"])
        return "client_secret_post" not in methods

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        # From the settings: a request's Host can be forged.
        return urljoin(f"{settings.CABINET_URL}/", CALLBACK_PATH)

    def get_access_token_data(self, *args: Any, **options: Any) -> dict[str, Any]:
        try:
            answer = super().get_access_token_data(*args, **options)
        except OAuth2Error:
            # Its text quotes the whole answer.
            raise ProviderError(
                "its token endpoint refuses this client or the code"
            ) from None
        except RequestException as error:
            reason = provider_documents.reason(error)
            raise ProviderError(f"its token endpoint: {reason}") from None
        except (KeyError, TypeError):
            raise ProviderError("its token endpoint: not a valid answer") from None
        if not isinstance(answer, dict):
            raise ProviderError("its token endpoint: not a JSON object")
        return answer

    def parse_token(self, data: dict[str, Any]) -> None:
        """Return no token: it is used once, and must not get into a session."""

    def complete_login(
        self, request: HttpRequest, app: Any, token: Any, **kwargs: Any
    ) -> Any:
        """Check that the ID token is for this login, and who the person is."""
        answer = kwargs["response"]
        if not isinstance(id_token := answer.get("id_token"), str):
            raise ProviderError("it sent no ID token")
        claims = verified_claims(id_token, self.provider_id, app.client_id, ["sub"])
        nonce = str(claims.get("nonce", "")).encode()
        if not compare_digest(nonce, self.state["nonce"].encode()):
            raise ProviderError("its ID token belongs to another login")
        if claims.get("azp", app.client_id) != app.client_id:
            raise ProviderError("its ID token is for another client")
        self._check_time(claims.get("auth_time"))
        if "email" not in claims and "userinfo_endpoint" in self.openid_config:
            claims = self._userinfo(answer["access_token"], claims["sub"]) | claims
        provider = self.get_provider()  # type: ignore[no-untyped-call]
        return provider.sociallogin_from_response(request, claims)

    def _check_time(self, auth_time: object) -> None:
        """Raise an error if the person was to log in again, and did not.

        After a request with max_age the claim is required (Core, section 2).
        """
        if self.state["process"] != AGAIN:
            return
        if not isinstance(auth_time, int | float):
            raise ProviderError("its ID token has no valid auth_time")
        earliest = self.state["since"] - LEEWAY_SECONDS
        # Not the other way round: NaN is neither less nor greater.
        if not earliest <= auth_time <= time.time() + LEEWAY_SECONDS:
            raise ProviderError("it did not ask the person to log in again")

    def _userinfo(self, access_token: object, subject: str) -> dict[str, Any]:
        """Return what the userinfo endpoint says, if it is about the same person."""
        headers = {"Authorization": f"Bearer {access_token}"}
        try:
            with BoundedSession() as session:
                response = session.get(self.profile_url, headers=headers)
                response.raise_for_status()
                answer = response.json()
        except RequestException as error:
            reason = provider_documents.reason(error)
            raise ProviderError(f"its userinfo endpoint: {reason}") from None
        # Core, section 5.3.2: otherwise the values must not be used.
        if not isinstance(answer, dict) or answer.get("sub") != subject:
            raise ProviderError("its userinfo endpoint describes another person")
        return answer


class CabinetProvider(OpenIDConnectProvider):
    oauth2_adapter_class = CabinetClient

    def get_redirect_from_request_kwargs(self, request: HttpRequest) -> dict[str, Any]:
        raise NotImplementedError("a visitor must not choose scope or parameters")

    def redirect(
        self,
        request: HttpRequest,
        process: str,
        next_url: str | None = None,
        data: Any = None,
        **kwargs: Any,
    ) -> Any:
        nonce = get_random_string(_NONCE_LENGTH)
        return super().redirect(
            request,
            process,
            next_url,
            data,
            auth_params={"nonce": nonce, **kwargs["auth_params"]},
            nonce=nonce,
            since=time.time(),
        )

    def get_default_scope(self) -> list[str]:
        return ["openid", "email"]

    def extract_uid(self, data: dict[str, Any]) -> str:
        subject = data["sub"]
        if not subject or len(subject) > app_settings.UID_MAX_LENGTH:
            raise ProviderError("its name for the person is empty or too long")
        return str(subject)

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return nothing to store: we need no profile."""
        return {}

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        return {}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[EmailAddress]:
        """Return the address; only the JSON value `true` says that it is verified.

        The standard defines a boolean. A provider that sends a text may send "false".
        """
        email = data.get("email")
        if not isinstance(email, str):
            return []
        verified = data.get("email_verified") is True
        return [EmailAddress(email=email, verified=verified, primary=True)]


class CallbackView(OAuth2CallbackView):
    adapter: CabinetClient

    def _get_state(self, request: HttpRequest, provider: Any) -> Any:
        """Let the client compare the ID token with what the session remembers."""
        state, response = super()._get_state(request, provider)
        self.adapter.state = state or {}
        return state, response


def finish_login(request: HttpRequest) -> Any:
    """Let allauth finish the login; raise `ProviderError` if a check of ours fails."""
    client = CabinetClient(request, settings.CONFIG.oidc_issuer)
    view = CallbackView.adapter_view(client)  # type: ignore[no-untyped-call]
    return view(request)


def verified_claims(
    token: str, issuer: str, client_id: str, required: list[str]
) -> dict[str, Any]:
    """Return the claims of a token that the provider has signed for this client."""
    try:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in _ALGORITHMS:
            raise ProviderError("its token is not signed with a private key")
        key = _find(provider_documents.keys(issuer), header)
        if key is None:  # the provider may have a new one
            key = _find(provider_documents.keys(issuer, refresh=True), header)
        if key is None:
            raise ProviderError("its token is signed with an unknown key")
        claims: dict[str, Any] = jwt.decode(
            token,
            jwt.PyJWK(key, algorithm),
            algorithms=sorted(_ALGORITHMS),
            audience=client_id,
            issuer=provider_documents.configuration(issuer)["issuer"],
            leeway=LEEWAY_SECONDS,
            options={"require": ["iss", "aud", "exp", "iat", *required]},
        )
    except jwt.PyJWTError as error:
        # The name of the exception says which check failed; its text may quote claims.
        check = type(error).__name__
        raise ProviderError(f"its token is not valid: {check}") from None
    return claims


def _find(keys: list[Any], header: dict[str, Any]) -> dict[str, Any] | None:
    """Return the key with the token's id; without an id, the only key."""
    signing = [
        key
        for key in keys
        if isinstance(key, dict)
        and key.get("use", "sig") == "sig"
        and key.get("alg", header["alg"]) == header["alg"]
    ]
    if "kid" not in header:
        return signing[0] if len(signing) == 1 else None
    return next((key for key in signing if key.get("kid") == header["kid"]), None)
