"""The URLs of the cabinet."""

from django.urls import include, path
from django.views.generic import RedirectView

from readback.cabinet import invitation_admin  # noqa: F401  (registers its pages)
from readback.cabinet.account_rules import CALLBACK_PATH
from readback.cabinet.admin import operator_site
from readback.cabinet.views import (
    account,
    account_data,
    account_mails,
    address,
    docs,
    invitation,
    journal,
    key,
    key_changes,
    keys,
    landing,
    language,
    new_key,
    openapi,
    privacy,
    probe,
    second_factor,
    second_factor_login,
    sessions,
    single_sign_on,
    undo_email_change,
    unmatched,
    well_known,
)

urlpatterns = [
    path("", landing.landing, name="landing"),
    path("keys/", keys.key_list, name="keys"),
    path("keys/<int:key_id>/", key.detail, name="key"),
    path("keys/<int:key_id>/numbers/", key.activity, name="key_numbers"),
    path(
        "keys/<int:key_id>/journal.csv",
        journal.export,
        {"extension": "csv"},
        name="journal_csv",
    ),
    path(
        "keys/<int:key_id>/journal.jsonl",
        journal.export,
        {"extension": "jsonl"},
        name="journal_jsonl",
    ),
    path("keys/<int:key_id>/revoke/", key.revoke, name="key_revoke"),
    path("keys/<int:key_id>/rename/", key_changes.rename, name="key_rename"),
    path("keys/<int:key_id>/rotate/", key_changes.rotate, name="key_rotate"),
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
    # Pages in docs/ link to the file beside them.
    path("docs/openapi.yaml", RedirectView.as_view(pattern_name="openapi")),
    path("docs/<slug:name>", docs.page, name="docs_page"),
    path("docs/<slug:name>/", RedirectView.as_view(pattern_name="docs_page")),
    # Programs rely on this path and on docs/errors (the API's Link header).
    path("address.json", address.address_json, name="address"),
    path("openapi.yaml", openapi.download, name="openapi"),
    path("probe.pyz", probe.download, name="probe"),
    path("probe.pyz.sha256", probe.checksum, name="probe_checksum"),
    path(".well-known/security.txt", well_known.security_txt, name="security_txt"),
    path(".well-known/change-password", well_known.change_password),
    path("privacy", privacy.privacy, name="privacy"),
    path("language/", language.switch, name="set_language"),
    path("account/", account.overview, name="account"),
    path("account/language/", account.language, name="account_language"),
    path("account/data/", account_data.page, name="account_data"),
    path("account/data/download/", account_data.download, name="account_data_download"),
    path("account/delete/", account.delete, name="account_delete"),
    path(
        "account/undo/<str:token>/",
        undo_email_change.undo_email_change,
        name="undo_email_change",
    ),
    path("account/sessions/", sessions.overview, name="sessions"),
    path("account/sessions/<int:pk>/end/", sessions.end, name="session_end"),
    path("account/sessions/end-others/", sessions.end_others, name="sessions_end"),
    path("account/second-factor/", second_factor.overview, name="second_factor"),
    path("account/second-factor/app/add/", second_factor.app_add, name="app_add"),
    path(
        "account/second-factor/app/remove/",
        second_factor.app_remove,
        name="app_remove",
    ),
    path(
        "account/second-factor/passkeys/add/",
        second_factor.passkey_add,
        name="passkey_add",
    ),
    path(
        "account/second-factor/passkeys/<int:pk>/rename/",
        second_factor.passkey_rename,
        name="passkey_rename",
    ),
    path(
        "account/second-factor/passkeys/<int:pk>/remove/",
        second_factor.passkey_remove,
        name="passkey_remove",
    ),
    path(
        "account/second-factor/recovery-codes/",
        second_factor.recovery_codes,
        name="recovery_codes",
    ),
    path(
        "account/second-factor/recovery-codes/new/",
        second_factor.new_recovery_codes,
        name="new_recovery_codes",
    ),
    # allauth redirects to these names; its own pages for them are not used.
    path(
        "accounts/second-factor/",
        second_factor_login.authenticate,
        name="mfa_authenticate",
    ),
    path(
        "accounts/reauthenticate/code/",
        second_factor_login.confirm_by_code,
        name="mfa_reauthenticate",
    ),
    path(
        "accounts/reauthenticate/passkey/",
        second_factor_login.confirm_by_passkey,
        name="mfa_reauthenticate_webauthn",
    ),
    path(
        "accounts/reauthenticate/login/",
        second_factor_login.log_in_again,
        name="log_in_again",
    ),
    path(
        "accounts/login/passkey/",
        second_factor_login.passkey_login,
        name="passkey_login",
    ),
    # These replace allauth's pages with the same path and name.
    path("accounts/signup/", account_mails.sign_up, name="account_signup"),
    path("accounts/email/", account_mails.change_email, name="account_email"),
    path(
        "accounts/confirm-email/",
        account_mails.confirmation_sent,
        name="account_email_verification_sent",
    ),
    path(
        "accounts/confirm-email/<str:key>/",
        account_mails.confirm_email,
        name="account_confirm_email",
    ),
    path(
        "accounts/password/reset/",
        account_mails.reset_password,
        name="account_reset_password",
    ),
    path(
        "accounts/invitation/<str:token>/",
        invitation.accept,
        name="account_invitation",
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
