"""The operators' lists of accounts, keys and the audit trail, and invitations.

Django's admin, read-only: changes are made by actions, which call a service and add an
entry to the audit trail. The database contains no key, so no page can show one.
"""

import re
from typing import Any, cast

from allauth.account.decorators import reauthentication_required
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_noop, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import second_factor, single_sign_on
from readback.cabinet.accounts import selectors as account_selectors
from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts import sessions as account_sessions
from readback.cabinet.accounts.forms import NoLabelSuffixForm
from readback.cabinet.keys import selectors as key_selectors
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import AuditEntry, Key, OutgoingMail, User
from readback.cabinet.operators.admin_site import (
    LastActiveFilter,
    Operation,
    OperatorSite,
    ReadOnlyAdmin,
    StateFilter,
)

# Each list on an account's page shows only its newest rows, at most this many.
_ROWS = 20
# How many people can be invited at a time.
MAX_INVITED = 1000
# What mail programs put between addresses.
_SEPARATORS = re.compile(r"[\s,;:<>\"'()|]+")

operator_site = OperatorSite(name="admin")


class InviteForm(NoLabelSuffixForm, forms.Form):
    addresses = forms.CharField(
        label=_("E-mail addresses"),
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text=format_lazy(
            _(
                "Up to {limit} addresses, separated by spaces. Each person gets an "
                "account without a password and an e-mail that says how to set one."
            ),
            limit=MAX_INVITED,
        ),
    )

    def clean_addresses(self) -> list[str]:
        found = addresses_in(self.cleaned_data["addresses"])
        if not 0 < len(found) <= MAX_INVITED:
            raise ValidationError(
                _("The list has %(count)d addresses. Invite 1 to %(limit)d at a time."),
                params={"count": len(found), "limit": MAX_INVITED},
            )
        return found


def addresses_in(text: str) -> list[str]:
    """Return the words that may be addresses, in linear time."""
    words = dict.fromkeys(_SEPARATORS.split(text))
    return [word for word in words if "@" in word]


@admin.register(User, site=operator_site)
class AccountAdmin(ReadOnlyAdmin):
    list_filter = (
        "is_active",
        "emailaddress__verified",
        LastActiveFilter,
        "date_joined",
        "is_staff",
    )
    search_fields = ("email",)
    search_help_text = _("E-mail address")
    operations = {
        "deactivate": Operation(
            pgettext_lazy("account", "Deactivate"),
            _("Its keys stop working within a second, and its owner cannot log in."),
            account_services.account_deactivate,
            gettext_noop("Deactivated"),
            lambda rows: rows.filter(is_active=True),
            is_for_others=True,
        ),
        "activate": Operation(
            pgettext_lazy("account", "Activate"),
            _("Its owner can log in, and its keys work as before."),
            account_services.account_activate,
            gettext_noop("Activated"),
            lambda rows: rows.filter(is_active=False),
        ),
        "confirm": Operation(
            _("Confirm the address"),
            _(
                "The address counts as confirmed, without an e-mail. Make sure first "
                "that it belongs to the owner of the account."
            ),
            account_services.account_confirm,
            gettext_noop("Address confirmed"),
            lambda rows: rows.exclude(account_selectors.confirmed()),
        ),
        "reset-second-factor": Operation(
            _("Reset the second factor"),
            _(
                "Its passkeys, authenticator app and recovery codes stop working, and "
                "all its sessions end. Make sure first that it is the owner who asks."
            ),
            second_factor.second_factor_reset,
            gettext_noop("Second factor reset"),
            lambda rows: rows.filter(authenticator__type__in=account_selectors.FACTORS),
        ),
        "disconnect": Operation(
            _("Disconnect from single sign-on"),
            _(
                "All its sessions end. The next person who logs in there with the same "
                "address gets the account with its keys: make sure first that it is "
                "the same person."
            ),
            single_sign_on.account_disconnect,
            gettext_noop("Disconnected"),
            lambda rows: rows.filter(socialaccount__isnull=False),
        ),
        "end-sessions": Operation(
            _("End all sessions"),
            _("Everybody who is logged in to the account has to log in again."),
            account_sessions.sessions_end_by_operator,
            gettext_noop("Sessions ended"),
            lambda rows: rows.filter(usersession__isnull=False),
        ),
        "delete": Operation(
            _("Delete"),
            _("Its keys and their history are deleted, too. You cannot undo this."),
            account_services.account_delete,
            gettext_noop("Deleted"),
            is_for_others=True,
            is_final=True,
        ),
    }

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return account_selectors.accounts_with_state().order_by(*self.ordering)

    @method_decorator(reauthentication_required)
    def add_view(self, request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
        """Invite the people in a list; report who was left out, and why."""
        form = InviteForm(request.POST or None)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Invite people"),
            "form": form,
        }
        if request.method == "POST" and form.is_valid():
            addresses = form.cleaned_data["addresses"]
            left_out = []
            for email in addresses:
                try:
                    self._invite(request, email)
                except account_services.ServiceError as error:
                    left_out.append((email, error))
            invited = len(addresses) - len(left_out)
            context |= {"invited": invited, "left_out": left_out, "form": InviteForm()}
        return TemplateResponse(request, "operators/invite.html", context)

    # One transaction per person: one for a thousand would block SQLite's other writers.
    @transaction.atomic
    def _invite(self, request: HttpRequest, email: str) -> None:
        by = cast(User, request.user)
        change = gettext_noop("Invited")
        account = account_services.account_invite(email, by=by.email)
        account_services.audit_record(by, account, change)

    def change_view(self, request: HttpRequest, object_id: str, *_: Any) -> Any:
        """Show an account on one page, with the operations that apply to it."""
        account = self.get_object(request, object_id)
        if account is None:
            raise Http404
        if request.method == "POST":
            raise PermissionDenied
        keys = key_selectors.keys_of(account)
        connections = SocialAccount.objects.filter(user=account)
        own_mails = Q(account=account) | Q(address=account.email)
        mails = OutgoingMail.objects.filter(own_mails)
        sessions = UserSession.objects.filter(user=account)
        audit_rows = account_selectors.audit_entries(account)
        context = {
            **self.admin_site.each_context(request),
            "title": account.email,
            "operations": self.operations_for(request, account),
            "account": account,
            "is_confirmed": account_selectors.account_is_confirmed(account),
            "connections": list(connections.order_by("pk")),
            "factors": account_selectors.second_factors_of(account),
            "sessions": sessions.order_by("-last_seen_at", "-pk")[:_ROWS],
            "keys": keys[:_ROWS],
            "key_count": keys.count(),
            "mails": mails.order_by("-pk")[:_ROWS],
            "audit": audit_rows.order_by("-pk")[:_ROWS],
        }
        return TemplateResponse(request, "operators/account.html", context)


@admin.register(Key, site=operator_site)
class KeyAdmin(ReadOnlyAdmin):
    list_filter = (StateFilter, "last_used_at")
    list_select_related = ("owner",)
    search_fields = ("owner__email", "label", "last_four")
    search_help_text = _("Address, name or end of a key")
    operations = {
        "revoke": Operation(
            _("Revoke"),
            _(
                "The API refuses every request with this key within a second. You "
                "cannot undo this. Its owner gets an e-mail."
            ),
            key_services.key_revoke,
            gettext_noop("Revoked"),
            lambda rows: rows.filter(revoked_at=None),
            is_final=True,
        ),
    }

    def change_view(self, request: HttpRequest, object_id: str, *_: Any) -> Any:
        """Redirect to the owner's page, which lists the account's newest keys."""
        key = self.get_object(request, object_id)
        if key is None:
            raise Http404
        url = reverse("admin:cabinet_user_change", args=[key.owner_id])
        return redirect(f"{url}#keys")


@admin.register(AuditEntry, site=operator_site)
class AuditAdmin(ReadOnlyAdmin):
    list_filter = ("at",)
    search_fields = ("by", "object_name")
    search_help_text = _("Address or object")
