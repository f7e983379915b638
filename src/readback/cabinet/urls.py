"""The URLs of the cabinet."""

from django.urls import include, path
from django.views.generic import RedirectView

from readback.cabinet.account_rules import CALLBACK_PATH
from readback.cabinet.accounts import account_pages, download, mail_pages
from readback.cabinet.keys import key_list, key_page, new_key, unmatched
from readback.cabinet.operators import invitation_admin  # noqa: F401  (registers its pages)
from readback.cabinet.operators.admin import operator_site
from readback.cabinet.pages import docs, privacy, public
from readback.cabinet.second_factor import login
from readback.cabinet.second_factor import pages as second_factor_pages
from readback.cabinet.single_sign_on import pages as single_sign_on_pages

urlpatterns = [
    path("", public.landing, name="landing"),
    path("keys/", key_list.key_list, name="keys"),
    path("keys/<int:key_id>/", key_page.detail, name="key"),
    path("keys/<int:key_id>/numbers/", key_page.activity, name="key_numbers"),
    path(
        "keys/<int:key_id>/journal.csv",
        key_page.export,
        {"extension": "csv"},
        name="journal_csv",
    ),
    path(
        "keys/<int:key_id>/journal.jsonl",
        key_page.export,
        {"extension": "jsonl"},
        name="journal_jsonl",
    ),
    path("keys/<int:key_id>/revoke/", key_page.revoke, name="key_revoke"),
    path("keys/<int:key_id>/rename/", key_list.rename, name="key_rename"),
    path("keys/<int:key_id>/rotate/", key_list.rotate, name="key_rotate"),
    path("keys/<int:key_id>/clear/", key_page.clear_journal, name="key_clear"),
    path(
        "keys/<int:key_id>/explanations/",
        key_page.set_explanations,
        name="key_explanations",
    ),
    path("keys/<int:key_id>/new/", new_key.new_key, name="new_key"),
    path("keys/<int:key_id>/arrived/", new_key.latest_request, name="key_arrived"),
    path("keys/<int:key_id>/unmatched/", unmatched.page, name="key_unmatched"),
    path(
        "keys/<int:key_id>/unmatched/recent/", unmatched.part, name="key_unmatched_part"
    ),
    path("docs/", docs.docs_index, name="docs"),
    path("docs/probe-report.schema.json", docs.report_schema, name="report_schema"),
    # Pages in docs/ link to the file beside them.
    path("docs/openapi.yaml", RedirectView.as_view(pattern_name="openapi")),
    path("docs/<slug:name>", docs.docs_page, name="docs_page"),
    path("docs/<slug:name>/", RedirectView.as_view(pattern_name="docs_page")),
    # Programs rely on this path and on docs/errors (the API's Link header).
    path("address.json", public.address_json, name="address"),
    path("openapi.yaml", docs.openapi, name="openapi"),
    path("probe.pyz", public.probe, name="probe"),
    path("probe.pyz.sha256", public.probe_checksum, name="probe_checksum"),
    path(".well-known/security.txt", public.security_txt, name="security_txt"),
    path(".well-known/change-password", public.change_password),
    path("privacy", privacy.privacy, name="privacy"),
    path("language/", account_pages.language_switch, name="set_language"),
    path("account/", account_pages.overview, name="account"),
    path("account/language/", account_pages.language, name="account_language"),
    path("account/data/", download.page, name="account_data"),
    path("account/data/download/", download.download, name="account_data_download"),
    path("account/delete/", account_pages.delete, name="account_delete"),
    path(
        "account/undo/<str:token>/",
        mail_pages.undo_email_change,
        name="undo_email_change",
    ),
    path("account/sessions/", account_pages.session_list, name="sessions"),
    path(
        "account/sessions/<int:pk>/end/", account_pages.session_end, name="session_end"
    ),
    path(
        "account/sessions/end-others/", account_pages.sessions_end, name="sessions_end"
    ),
    path("account/second-factor/", second_factor_pages.overview, name="second_factor"),
    path("account/second-factor/app/add/", second_factor_pages.app_add, name="app_add"),
    path(
        "account/second-factor/app/remove/",
        second_factor_pages.app_remove,
        name="app_remove",
    ),
    path(
        "account/second-factor/passkeys/add/",
        second_factor_pages.passkey_add,
        name="passkey_add",
    ),
    path(
        "account/second-factor/passkeys/<int:pk>/rename/",
        second_factor_pages.passkey_rename,
        name="passkey_rename",
    ),
    path(
        "account/second-factor/passkeys/<int:pk>/remove/",
        second_factor_pages.passkey_remove,
        name="passkey_remove",
    ),
    path(
        "account/second-factor/recovery-codes/",
        second_factor_pages.recovery_codes,
        name="recovery_codes",
    ),
    path(
        "account/second-factor/recovery-codes/new/",
        second_factor_pages.new_recovery_codes,
        name="new_recovery_codes",
    ),
    # allauth redirects to these names; its own pages for them are not used.
    path(
        "accounts/second-factor/",
        login.authenticate,
        name="mfa_authenticate",
    ),
    path(
        "accounts/reauthenticate/code/",
        login.confirm_by_code,
        name="mfa_reauthenticate",
    ),
    path(
        "accounts/reauthenticate/passkey/",
        login.confirm_by_passkey,
        name="mfa_reauthenticate_webauthn",
    ),
    path(
        "accounts/reauthenticate/login/",
        login.log_in_again,
        name="log_in_again",
    ),
    path(
        "accounts/login/passkey/",
        login.passkey_login,
        name="passkey_login",
    ),
    # These replace allauth's pages with the same path and name.
    path("accounts/signup/", mail_pages.sign_up, name="account_signup"),
    path("accounts/email/", mail_pages.change_email, name="account_email"),
    path(
        "accounts/confirm-email/",
        mail_pages.confirmation_sent,
        name="account_email_verification_sent",
    ),
    path(
        "accounts/confirm-email/<str:key>/",
        mail_pages.confirm_email,
        name="account_confirm_email",
    ),
    path(
        "accounts/password/reset/",
        mail_pages.reset_password,
        name="account_reset_password",
    ),
    path(
        "accounts/invitation/<str:token>/",
        mail_pages.accept_invitation,
        name="account_invitation",
    ),
    path(
        "accounts/password/set/",
        account_pages.set_password,
        name="account_set_password",
    ),
    path("accounts/oidc/login/", single_sign_on_pages.start, name="single_sign_on"),
    path(
        "accounts/oidc/again/", single_sign_on_pages.again, name="single_sign_on_again"
    ),
    path(CALLBACK_PATH, single_sign_on_pages.callback, name="single_sign_on_callback"),
    path("accounts/", include("allauth.account.urls")),
    path("admin/", operator_site.urls),
]

# allauth uses the first handler; those that are not here are Django's, with our
# templates.
handler429 = "readback.cabinet.serving.errors.too_many_requests"
handler500 = "readback.cabinet.serving.errors.server_error"
