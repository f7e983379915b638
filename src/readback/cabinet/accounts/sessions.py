"""Where an account is logged in: one row of allauth's table for each session.

allauth adds the row at login, and `middleware.py` updates it at most every ten minutes.
About the client, it contains only the network, the browser and the operating system.
Deleting the row in Django's own table ends a session.
"""

from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.signals import pre_save
from django.dispatch import receiver

from readback.cabinet.mail import notices
from readback.cabinet.models import User
from readback.client_address import shorten

# A session stores the time of the login under this name.
SESSION_STARTED = "began"
# A login ends the oldest sessions beyond this number. allauth reads all sessions of the
# account, so without a limit each login of a script would be slower than the last.
MAX_SESSIONS = 50
# The first match counts: most browsers also call themselves Chrome or Safari.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("YaBrowser/", "Yandex Browser"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


@receiver(pre_save, sender=UserSession)
def _shorten(instance: UserSession, **_: Any) -> None:
    """Store only what pages show: the network, the browser and the operating system."""
    # The pages show 0.0.0.0 as "unknown".
    instance.ip = shorten(instance.ip).replace(".x", ".0") or "0.0.0.0"
    if agent := instance.user_agent:
        names = {"name": _first(_BROWSERS, agent), "system": _first(_SYSTEMS, agent)}
        instance.data = names
        instance.user_agent = ""


def sessions_end_by_operator(account: User) -> None:
    sessions_end(account)
    notices.record("sessions_ended_by_operator", account=account.pk)


def sessions_end(account: User, kept_key: str | None = None) -> None:
    rows = UserSession.objects.filter(user=account)
    _end(rows.exclude(session_key=kept_key))


def sessions_end_surplus(account: User) -> None:
    """End the oldest sessions, so that there is room for one more."""
    rows = UserSession.objects.filter(user=account).order_by("-last_seen_at", "-pk")
    surplus = list(rows.values_list("pk", flat=True)[MAX_SESSIONS - 1 :])
    if surplus:
        _end(UserSession.objects.filter(pk__in=surplus))


@transaction.atomic
def _end(rows: QuerySet[UserSession]) -> None:
    keys = list(rows.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    UserSession.objects.filter(session_key__in=keys).delete()


def _first(names: tuple[tuple[str, str], ...], user_agent: str) -> str:
    return next((name for part, name in names if part in user_agent), "")
