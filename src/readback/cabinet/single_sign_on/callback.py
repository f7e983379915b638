"""The way back from the provider: allauth's view, with our checks and pages."""

from typing import Any

from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.http import HttpRequest

from readback.cabinet.single_sign_on import errors
from readback.cabinet.single_sign_on.openid_connect import CabinetClient
from readback.cabinet.single_sign_on.provider_documents import ProviderError


class CallbackView(OAuth2CallbackView):
    adapter: CabinetClient

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().dispatch(request, *args, **kwargs)
        except ProviderError as error:
            return errors.failed(request, str(error))

    def _get_state(self, request: HttpRequest, provider: Any) -> Any:
        """Let the client compare the ID token with what the session remembers."""
        state, response = super()._get_state(request, provider)
        self.adapter.state = state or {}
        return state, response


def finish(request: HttpRequest) -> Any:
    client = CabinetClient(request, settings.CONFIG.oidc_issuer)
    view = CallbackView.adapter_view(client)  # type: ignore[no-untyped-call]
    return view(request)
