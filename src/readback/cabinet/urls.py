"""The cabinet's URLs."""

from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import RedirectView
from django.views.i18n import set_language

from readback.cabinet.account_rules import CALLBACK_PATH
from readback.cabinet.accounts import account_pages, download, single_sign_on
from readback.cabinet.keys import new_key
from readback.cabinet.keys import pages as keys
from readback.cabinet.operators.admin import operator_site
from readback.cabinet.pages import docs, for_programs, public, search

_key = [
    path("", keys.detail, name="key"),
    path("numbers/", keys.activity, name="key_numbers"),
    path("revoke/", keys.revoke, name="key_revoke"),
    path("rename/", keys.rename, name="key_rename"),
    path("rotate/", keys.rotate, name="key_rotate"),
    path("clear/", keys.clear_journal, name="key_clear"),
    path("explanations/", keys.set_explanations, name="key_explanations"),
    path("new/", new_key.new_key, name="new_key"),
    path("arrived/", new_key.latest_request, name="key_arrived"),
    path("unmatched/", new_key.unmatched_page, name="key_unmatched"),
]
_docs = [
    path("", search.docs_index, name="docs"),
    path("probe-report.schema.json", docs.report_schema, name="report_schema"),
    path("<slug:name>", docs.docs_page, name="docs_page"),
    path("<slug:name>.md", for_programs.docs_markdown, name="docs_markdown"),
    path("<slug:name>/", RedirectView.as_view(pattern_name="docs_page")),
]
_account = [
    path("", account_pages.overview, name="account"),
    path("data/", download.page, name="account_data"),
    path("data/download/", download.download, name="account_data_download"),
    path("delete/", account_pages.delete, name="account_delete"),
    path("sessions/", account_pages.SessionsView.as_view(), name="usersessions_list"),
    # Our list of second factors replaces allauth's list of passkeys.
    path("second-factor/webauthn/", RedirectView.as_view(pattern_name="mfa_index")),
    path("second-factor/", include("allauth.mfa.urls")),
]
_login = [
    path("reauthenticate/login/", account_pages.log_in_again, name="log_in_again"),
    path("oidc/login/", single_sign_on.start, name="single_sign_on"),
    # These replace allauth's pages with the same path and name.
    path("signup/", account_pages.SignUpView.as_view(), name="account_signup"),
    path(
        "confirm-email/<str:key>/",
        account_pages.ConfirmEmailView.as_view(),
        name="account_confirm_email",
    ),
    path("password/set/", account_pages.set_password, name="account_set_password"),
    path("logout/", account_pages.log_out, name="account_logout"),
    path("", include("allauth.account.urls")),
]

urlpatterns = [
    path("", public.landing, name="landing"),
    path("keys/", keys.key_list, name="keys"),
    path("keys/<int:key_id>/", include(_key)),
    path("docs/", include(_docs)),
    # Programs rely on this path, and the API's Link header points to docs/errors.
    path("address.json", public.address_json, name="address"),
    path("llms.txt", for_programs.llms_txt, name="llms_txt"),
    path("openapi.yaml", docs.openapi, name="openapi"),
    path("probe.pyz", public.probe, name="probe"),
    path(".well-known/security.txt", public.security_txt, name="security_txt"),
    # Password managers look here for the page to change a password.
    path(
        ".well-known/change-password",
        RedirectView.as_view(pattern_name="account_change_password"),
    ),
    path("privacy", public.privacy, name="privacy"),
    # A CSRF token would need a cookie on every page, so no page could be cached.
    # Without one, another site can change a visitor's language, but nothing else.
    path("language/", csrf_exempt(set_language), name="set_language"),
    path("account/", include(_account)),
    path(CALLBACK_PATH, single_sign_on.callback, name="single_sign_on_callback"),
    path("accounts/", include(_login)),
    path("admin/", operator_site.urls),
]

# allauth calls handler429. For 403 and 404, Django's own handlers use our templates.
handler400 = "readback.cabinet.serving.errors.bad_request"
handler429 = "readback.cabinet.serving.errors.too_many_requests"
handler500 = "readback.cabinet.serving.errors.server_error"
