"""The addresses of the cabinet's pages."""

from django.urls import include, path

from readback.cabinet.views import address, docs, keys, landing, language

urlpatterns = [
    path("", landing.landing, name="landing"),
    path("keys/", keys.overview, name="keys"),
    path("docs/", docs.index, name="docs"),
    path("address.json", address.address_json, name="address"),
    path("language/", language.choose, name="set_language"),
    path("accounts/", include("allauth.account.urls")),
]
