"""The URLs of the cabinet."""

from django.urls import include, path
from django.views.generic import RedirectView

from readback.cabinet.admin import operator_site
from readback.cabinet.single_sign_on import CALLBACK_PATH
from readback.cabinet.views import (
    account,
    account_mails,
    address,
    docs,
    key,
    keys,
    landing,
    language,
    new_key,
    probe,
    single_sign_on,
    unmatched,
)

urlpatterns = [
    path("", landing.landing, name="landing"),
    path("keys/", keys.key_list, name="keys"),
    path("keys/<int:key_id>/", key.detail, name="key"),
    path("keys/<int:key_id>/numbers/", key.activity, name="key_numbers"),
    path("keys/<int:key_id>/revoke/", key.revoke, name="key_revoke"),
    path("keys/<int:key_id>/clear/", key.clear_journal, name="key_clear"),
    path(
        "keys/<int:key_id>/explanations/",
        key.set_explanations,
        name="key_explanations",
    ),
    path("keys/<int:key_id>/new/", new_key.new_key, name="new_key"),
    path("keys/<int:key_id>/arrived/", new_key.latest_request, name="key_arrived"),
    path("keys/<int:key_id>/unmatched/", unmatched.page, name="key_unmatched"),
    path(
        "keys/<int:key_id>/unmatched/recent/", unmatched.part, name="key_unmatched_part"
    ),
    path("docs/", docs.index, name="docs"),
    path("docs/probe-report.schema.json", docs.report_schema, name="report_schema"),
    path("docs/<slug:name>", docs.page, name="docs_page"),
    path("docs/<slug:name>/", RedirectView.as_view(pattern_name="docs_page")),
    # Programs rely on this path and on docs/errors (the API's Link header).
    path("address.json", address.address_json, name="address"),
    path("probe.pyz", probe.download, name="probe"),
    path("probe.pyz.sha256", probe.checksum, name="probe_checksum"),
    path("language/", language.switch, name="set_language"),
    path("account/", account.overview, name="account"),
    path("account/language/", account.language, name="account_language"),
    path("account/delete/", account.delete, name="account_delete"),
    # These replace allauth's pages with the same path and name.
    path("accounts/signup/", account_mails.sign_up, name="account_signup"),
    path(
        "accounts/confirm-email/",
        account_mails.confirmation_sent,
        name="account_email_verification_sent",
    ),
    path(
        "accounts/password/reset/",
        account_mails.reset_password,
        name="account_reset_password",
    ),
    path("accounts/password/set/", account.set_password, name="account_set_password"),
    path("accounts/oidc/login/", single_sign_on.start, name="single_sign_on"),
    path("accounts/oidc/again/", single_sign_on.again, name="single_sign_on_again"),
    path(CALLBACK_PATH, single_sign_on.callback, name="single_sign_on_callback"),
    path("accounts/", include("allauth.account.urls")),
    path("admin/", operator_site.urls),
]

# allauth uses the first handler; those that are not here are Django's, with our
# templates.
handler429 = "readback.cabinet.views.errors.too_many_requests"
handler500 = "readback.cabinet.views.errors.server_error"
