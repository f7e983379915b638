"""Where an account is logged in: one row of allauth's table beside each session.

A row is written at the login and then at most once in some minutes, together with its
session (see `middleware.py`). A session ends when its row in Django's table is deleted.
Of what a browser sends, only its name and that of its system are stored.
"""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from readback.cabinet.mail import notices
from readback.cabinet.models import User
from readback.cabinet.serving import visitors
from readback.client_address import shorten

# The session's keys for the time of the login, and for its id in the table.
SESSION_STARTED = "began"
_LISTED = "listed"
# Each login ends the oldest sessions beyond this number, so that a program that logs in
# again and again does not make the list endless.
MAX_SESSIONS = 50
_UNKNOWN_ADDRESS = "0.0.0.0"
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


def is_listed(request: HttpRequest) -> bool:
    """Return whether the session is in the table under its current id."""
    return bool(request.session.get(_LISTED) == request.session.session_key)


def session_record(request: HttpRequest) -> None:
    """Write where and when this session was used last."""
    session, now = request.session, timezone.now()
    agent = request.headers.get("user-agent", "")
    network = shorten(visitors.client_address(request))
    # A name that is not known is empty.
    data = {"name": _first(_BROWSERS, agent), "system": _first(_SYSTEMS, agent)}
    values = {
        "session_key": session.session_key,
        # The network alone, because the page shows no more of it.
        "ip": network.replace(".x", ".0") or _UNKNOWN_ADDRESS,
        "data": data,
        "last_seen_at": now,
    }
    # Django gives the session another id when the password is changed.
    known = session.get(_LISTED, session.session_key)
    rows = UserSession.objects.filter(user=request.user, session_key=known)
    if not rows.update(**values):
        UserSession.objects.update_or_create(
            session_key=values.pop("session_key"),
            defaults={"user": request.user, "user_agent": "", **values},
        )
    session[_LISTED] = session.session_key


def sessions_of(account: User) -> list[UserSession]:
    """Return the sessions that have not ended, the last used one first."""
    # `session_key__in` would read the sessions of all accounts first.
    alive = Session.objects.filter(
        session_key=OuterRef("session_key"), expire_date__gt=timezone.now()
    )
    rows = UserSession.objects.filter(Exists(alive), user=account)
    return list(rows.order_by("-last_seen_at", "-pk"))


def session_end(account: User, pk: int) -> None:
    """End one session of the account; one that has ended already is no error."""
    if sessions_end_rows(UserSession.objects.filter(user=account, pk=pk)):
        notices.record("session_ended", account=account.pk)


def sessions_end_others(account: User, kept_key: str | None) -> None:
    if sessions_end(account, kept_key):
        notices.record("other_sessions_ended", account=account.pk)


def sessions_end_by_operator(account: User) -> None:
    sessions_end(account)
    notices.record("sessions_ended_by_operator", account=account.pk)


def sessions_end(account: User, kept_key: str | None = None) -> int:
    """End all sessions of the account but the one with this key; return how many."""
    rows = UserSession.objects.filter(user=account)
    return sessions_end_rows(rows.exclude(session_key=kept_key))


def sessions_end_surplus(account: int) -> None:
    rows = UserSession.objects.filter(user_id=account).order_by("-last_seen_at", "-pk")
    surplus = list(rows.values_list("pk", flat=True)[MAX_SESSIONS:])
    if surplus:
        sessions_end_rows(UserSession.objects.filter(pk__in=surplus))


def expired_rows() -> QuerySet[UserSession]:
    # The hour is longer than a session in use can go without being written.
    lifetime = timedelta(seconds=settings.SESSION_COOKIE_AGE, hours=1)
    return UserSession.objects.filter(last_seen_at__lt=timezone.now() - lifetime)


@transaction.atomic
def sessions_end_rows(rows: QuerySet[UserSession]) -> int:
    """End the sessions at once; return how many there were."""
    keys = list(rows.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    UserSession.objects.filter(session_key__in=keys).delete()
    return len(keys)


def shown_address(row: UserSession) -> str:
    return "" if row.ip == _UNKNOWN_ADDRESS else shorten(row.ip)


def _first(names: tuple[tuple[str, str], ...], user_agent: str) -> str:
    return next((name for part, name in names if part in user_agent), "")
