"""The URLs of the OpenID Connect provider that the tests start."""

from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from tests.support.oidc_provider_process import enter, prepare

urlpatterns = [
    path("prepare", csrf_exempt(prepare)),
    path("enter/<name>", enter),
    path("accounts/", include("allauth.account.urls")),
    path("", include("allauth.idp.urls")),
]
