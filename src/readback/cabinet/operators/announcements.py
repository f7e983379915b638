"""The list of announcements, in which operators write, change and end them."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from readback.cabinet.models import ANNOUNCEMENT_LENGTH, Announcement
from readback.cabinet.operators.admin_site import Operation, ReadOnlyAdmin
from readback.cabinet.serving import announcements


def _line(label: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=ANNOUNCEMENT_LENGTH,
        widget=forms.TextInput,
    )


def _time(label: Any) -> forms.DateTimeField:
    # The browser's own control; Django's would need its scripts.
    options = {"type": "datetime-local"}
    widget = forms.DateTimeInput(options, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(label=label, widget=widget)


class AnnouncementForm(forms.ModelForm):  # type: ignore[type-arg]
    text_en, text_ru = _line(_("Text in English")), _line(_("Text in Russian"))
    starts_at, ends_at = _time(_("From (UTC)")), _time(_("Until (UTC)"))

    class Meta:
        model = Announcement
        fields = ("text_en", "text_ru", "level", "starts_at", "ends_at")
        labels = {"level": _("Level")}  # noqa: RUF012

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if not values.get("text_en") and not values.get("text_ru"):
            raise ValidationError(gettext("Write the text in at least one language."))
        start, end = values.get("starts_at"), values.get("ends_at")
        if start and end and end <= start:
            self.add_error("ends_at", gettext("The end must be after the beginning."))
        return values


def _end(row: Announcement) -> None:
    row.ends_at = timezone.now()
    row.save(update_fields=["ends_at"])
    announcements.forget()


class AnnouncementAdmin(ReadOnlyAdmin):
    list_display = ("text", "level", "starts_at", "ends_at")
    form = AnnouncementForm
    operations = {
        "end": Operation(
            _("End now"),
            _("It is no longer shown."),
            _end,
            gettext_noop("Ended"),
            lambda rows: rows.filter(ends_at__gt=timezone.now()),
        ),
    }

    @admin.display(description=_("text"))
    def text(self, row: Announcement) -> str:
        return " / ".join(filter(None, (row.text_en, row.text_ru)))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_operate_permission(request)

    has_change_permission = has_add_permission

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"starts_at": timezone.now().replace(second=0)}

    def changeform_view(
        self, request: HttpRequest, object_id: Any = None, form_url: str = "", *_: Any
    ) -> HttpResponse:
        title = gettext("Announcement")
        context = {"title": title, "subtitle": None, "show_save_and_continue": False}
        context["show_save_and_add_another"] = False
        return super().changeform_view(request, object_id, form_url, context)

    def save_model(
        self, request: HttpRequest, obj: Announcement, form: Any, change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        announcements.forget()
