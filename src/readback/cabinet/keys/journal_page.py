"""The journal of a key as a file."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from readback.cabinet.keys import journal
from readback.cabinet.keys.journal_export import FORMATS, exported
from readback.cabinet.keys.selectors import owned_key
from readback.cabinet.models import Key
from readback.cabinet.serving.requests import AccountRequest


@require_safe
@never_cache
@login_required
def export(request: AccountRequest, key_id: int, extension: str) -> HttpResponse:
    """Return all rows that match the filter in the URL, not only those of a page."""
    key = owned_key(request, key_id)
    chosen = journal.JournalFilter.from_query(request.GET)
    form = FORMATS[extension]
    text = form.write(map(exported, journal.read(key, chosen).rows))
    response = HttpResponse(text, form.media_type)
    name = f"{_name(key)}.{extension}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _name(key: Key) -> str:
    """Return a name of letters, digits and hyphens, whatever the key is called."""
    parts = ("readback-journal", slugify(key.label), key.last_four)
    return "-".join(filter(None, (*parts, f"{timezone.now():%Y-%m-%d}")))
