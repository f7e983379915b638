"""Our changes to allauth's OpenID Connect client: check more, and store no tokens.

It is imported at the first login, because its libraries take 14 MB of memory.
`single_sign_on.py` decides which account a person gets.
"""

import io
from typing import Any
from urllib.parse import urljoin

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
from requests import PreparedRequest, RequestException, Response, Session

from readback.cabinet.account_rules import CALLBACK_PATH
from readback.cabinet.accounts import provider_documents
from readback.cabinet.accounts.provider_documents import ProviderError


class CabinetClient(OpenIDConnectOAuth2Adapter):
    @property
    def openid_config(self) -> dict[str, Any]:
        return provider_documents.configuration(self.provider_id)

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        # Built from the settings, because a request's Host can be forged.
        return urljoin(f"{settings.CABINET_URL}/", CALLBACK_PATH)

    def parse_token(self, data: dict[str, Any]) -> None:
        """Return no token: it is used once, and must not be in a session."""

    def complete_login(
        self, request: HttpRequest, app: Any, token: Any, **kwargs: Any
    ) -> Any:
        """Check the ID token completely; allauth would just trust the connection."""
        id_token = kwargs["response"].get("id_token")
        if not isinstance(id_token, str):
            raise ProviderError("it sent no ID token")
        self.did_fetch_access_token = False  # so that allauth verifies the signature
        claims = self._decode_id_token(app, id_token)
        # allauth checks these claims only if they are present.
        if not {"exp", "iat"} <= claims.keys():
            raise ProviderError("its ID token has no exp or no iat")
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        # OpenID Connect Core §3.1.3.7: with several audiences, `azp` names the client.
        party = claims.get("azp", "" if several else app.client_id)
        if party != app.client_id:
            raise ProviderError("its ID token is for another client")
        provider = self.get_provider()  # type: ignore[no-untyped-call]
        return provider.sociallogin_from_response(request, claims)


class ProviderSession(Session):
    """Let allauth send requests with our own client, which limits size and time.

    The machine's settings are ignored: a ~/.netrc would replace the client secret.
    """

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.headers.clear()

    def send(self, request: PreparedRequest, **_: Any) -> Response:
        fields = request.body.encode() if isinstance(request.body, str) else None
        answer = provider_documents.ask(
            "its answer",
            str(request.method),
            str(request.url),
            headers=request.headers,
            body=fields,
        )
        response = Response()
        response.status_code = answer.status
        response.headers.update(answer.headers.items())
        response.raw = io.BytesIO(answer.body)
        response.encoding = "utf-8"  # guessing it would be slow
        return response


class CabinetProvider(OpenIDConnectProvider):
    oauth2_adapter_class = CabinetClient

    def extract_uid(self, data: dict[str, Any]) -> str:
        subject = str(data["sub"])
        if not subject or len(subject) > app_settings.UID_MAX_LENGTH:
            raise ProviderError("its name for the person is empty or too long")
        return subject

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return nothing to store, because we need no profile."""
        return {}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[EmailAddress]:
        """Return the address; it is verified only if the provider says so with `true`.

        The standard requires a boolean; a provider that sends strings may send "false".
        """
        email = data.get("email")
        if not isinstance(email, str):
            return []
        verified = data.get("email_verified") is True
        return [EmailAddress(email=email, verified=verified, primary=True)]


def finish_login(request: HttpRequest) -> Any:
    """Let allauth finish the login; raise `ProviderError` if an answer is invalid."""
    client = CabinetClient(request, settings.CONFIG.oidc_issuer)
    view = OAuth2CallbackView.adapter_view(client)  # type: ignore[no-untyped-call]
    try:
        return view(request)
    except (  # An answer may contain values of any type and size.
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise ProviderError(
            f"its answer is not valid: {type(error).__name__}"
        ) from None


def reason(error: Exception) -> str:
    """Return why a login failed, without quoting what the provider sent."""
    if isinstance(error, RequestException):
        return "its answer is not valid"
    if isinstance(error, OAuth2Error) and "id_token" in str(error):
        return "its ID token is not valid"
    if isinstance(error, OAuth2Error):
        return "its token endpoint refuses this client or the code, or a token"
    return str(error)
