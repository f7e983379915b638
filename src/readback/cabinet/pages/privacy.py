"""The privacy page: what is kept and for how long, with the figures in force."""

from allauth.account import app_settings
from allauth.core.internal.ratelimit import parse_rates
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from readback.cabinet.accounts import invitations, login_limits
from readback.cabinet.keys import unmatched
from readback.cabinet.mail import outbox
from readback.cabinet.serving import shown_once
from readback.contract import JOURNAL_ROWS, UNMATCHED_SECONDS

_DAY = 24 * 3600


@require_safe
def privacy(request: HttpRequest) -> HttpResponse:
    config, limits = settings.CONFIG, app_settings.RATE_LIMITS.values()
    longest_limit = max(rate.duration for each in limits for rate in parse_rates(each))
    context = {
        "journal_rows": JOURNAL_ROWS,
        "journal_days": config.journal_days,
        "usage_days": config.usage_days,
        "unmatched_is_on": unmatched.is_on(),
        "unmatched_minutes": UNMATCHED_SECONDS // 60,
        "session_days": settings.SESSION_COOKIE_AGE // _DAY,
        "session_max_days": settings.SESSION_ABSOLUTE_AGE // _DAY,
        "mail_days": outbox.NOTICE_LIFETIME.days,
        "invitation_days": invitations.KEPT.days,
        "limit_hours": int(longest_limit) // 3600,
        "cookies": _cookies(),
        "contact": config.contact,
        "contact_name": config.contact.removeprefix("mailto:"),
    }
    return render(request, "pages/privacy.html", context)


def _cookies() -> list[tuple[str, str, str]]:
    """Return the name, the purpose and the lifetime of each."""
    session = _("%(unused)s after the last use, %(total)s after the login") % {
        "unused": _days(settings.SESSION_COOKIE_AGE),
        "total": _days(settings.SESSION_ABSOLUTE_AGE),
    }
    minutes = shown_once.LIFETIME_SECONDS // 60
    return [
        (
            settings.SESSION_COOKIE_NAME,
            _("keeps you logged in and shows you messages"),
            session,
        ),
        (
            settings.CSRF_COOKIE_NAME,
            _("makes sure that a form comes from this site"),
            _days(settings.CSRF_COOKIE_AGE),
        ),
        (
            settings.KNOWN_BROWSER_COOKIE_NAME,
            _("lets you log in here even if strangers try passwords"),
            _days(login_limits.COOKIE_DAYS * _DAY),
        ),
        (
            settings.LANGUAGE_COOKIE_NAME,
            _("remembers the language that you choose at the bottom of a page"),
            _("until you close the browser"),
        ),
        (
            f"{settings.NEW_KEY_COOKIE_NAME}-…",
            _("hands a new key to the page that shows it"),
            ngettext("%(number)d minute", "%(number)d minutes", minutes)
            % {"number": minutes},
        ),
    ]


def _days(seconds: int) -> str:
    days = seconds // _DAY
    return ngettext("%(number)d day", "%(number)d days", days) % {"number": days}
