"""What operators announce now, from memory: every page shows it above its header.

Each process reads the table at most once in five seconds. If that fails, what was read
last stays. Error pages use no database, so they show that, too.
"""

import time
from typing import NamedTuple

from django.db import Error
from django.utils import timezone

from readback.cabinet.models import Announcement, AnnouncementLevel
from readback.cabinet.serving.brand import Texts

KEPT_SECONDS = 5.0
# At the same time, whatever operators have entered.
_MAX_SHOWN = 3
_MAX_KEPT = 50

# When the table was last read, and the rows that are or will be shown.
_known: tuple[float, list[Announcement]] = (float("-inf"), [])


class ShownAnnouncement(NamedTuple):
    level: str
    word: str
    text: Texts


def current(*, ask: bool = True) -> list[ShownAnnouncement]:
    """Return what to show now; without `ask`, the database is not used."""
    global _known
    read_at, rows = _known
    if ask and time.monotonic() - read_at > KEPT_SECONDS:
        # Before the table is read, so that no other thread waits for it, too.
        _known = (time.monotonic(), rows)
        try:
            unfinished = Announcement.objects.filter(ends_at__gt=timezone.now())
            rows = list(unfinished.order_by("starts_at", "pk")[:_MAX_KEPT])
            _known = (time.monotonic(), rows)
        except Error:  # the page itself says so, if it needs the database
            pass
    now = timezone.now()
    shown = [row for row in rows if row.starts_at <= now < row.ends_at]
    return [_shown(row) for row in shown[-_MAX_SHOWN:]]


def forget() -> None:
    """Read the table again for the next page: it has been changed here."""
    global _known
    _known = (float("-inf"), [])


def _shown(row: Announcement) -> ShownAnnouncement:
    texts = {"en": row.text_en, "ru": row.text_ru}
    word = str(AnnouncementLevel(row.level).label)
    written = Texts({language: text for language, text in texts.items() if text})
    return ShownAnnouncement(row.level, word, written)
