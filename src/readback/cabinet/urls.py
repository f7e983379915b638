"""The addresses of the cabinet's pages."""

from django.urls import include, path
from django.views.generic import RedirectView

from readback.cabinet.admin import operators
from readback.cabinet.views import (
    account,
    address,
    docs,
    key,
    keys,
    landing,
    language,
    new_key,
)

urlpatterns = [
    path("", landing.landing, name="landing"),
    path("keys/", keys.overview, name="keys"),
    path("keys/<int:key_id>/", key.page, name="key"),
    path("keys/<int:key_id>/numbers/", key.numbers, name="key_numbers"),
    path("keys/<int:key_id>/revoke/", key.revoke, name="key_revoke"),
    path("keys/<int:key_id>/clear/", key.clear, name="key_clear"),
    path("keys/<int:key_id>/new/", new_key.new_key, name="new_key"),
    path("keys/<int:key_id>/arrived/", new_key.arrived, name="key_arrived"),
    path("docs/", docs.index, name="docs"),
    path("docs/<slug:name>", docs.page, name="docs_page"),
    path("docs/<slug:name>/", RedirectView.as_view(pattern_name="docs_page")),
    # Where the API's Link header and /address.json point must not move.
    path("address.json", address.address_json, name="address"),
    path("language/", language.choose, name="set_language"),
    path("account/", account.overview, name="account"),
    path("account/language/", account.language, name="account_language"),
    path("account/delete/", account.delete, name="account_delete"),
    path("accounts/", include("allauth.account.urls")),
    path("admin/", operators.urls),
]

# allauth asks for this one; the rest are Django's own, with our templates.
handler429 = "readback.cabinet.views.errors.too_many_requests"
