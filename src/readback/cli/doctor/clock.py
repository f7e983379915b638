"""Checks of `readback doctor`: whether the clock of this machine is right.

It is compared with the database server's and with what is already stored, so no time
server is asked.
"""

from datetime import UTC, datetime, timedelta

from readback.cli.doctor.report import CheckResult, CheckResults, fail, ok, warn

# Several replicas and a slow connection differ by less.
_TOLERANCE = timedelta(seconds=2)
# The codes of authenticator apps change this often.
_TOO_MUCH = timedelta(seconds=30)
_SYNCHRONIZE = "Synchronize the clocks, for example with `timedatectl set-ntp true`."


def clock() -> CheckResults:
    """Compare the clock with the migrated database."""
    from django.db import connection

    results = [_behind_the_newest_row()]
    if connection.vendor == "postgresql":
        results.append(_against_the_server())
    problems = [result for result in results if result is not None]
    if problems:
        yield from problems
        return
    yield ok("clock", "it agrees with the database")


def _against_the_server() -> CheckResult | None:
    from django.db import connection

    with connection.cursor() as cursor:
        asked = datetime.now(UTC)
        cursor.execute("SELECT clock_timestamp()")
        [(there,)] = cursor.fetchall()
        here = asked + (datetime.now(UTC) - asked) / 2
    difference = here - there
    if abs(difference) <= _TOLERANCE:
        return None
    direction = "ahead of" if difference > timedelta() else "behind"
    seconds = abs(difference).total_seconds()
    found = f"it is {seconds:.0f} s {direction} the clock of the database server"
    line = fail if abs(difference) >= _TOO_MUCH else warn
    return line("clock", found, _SYNCHRONIZE)


def _behind_the_newest_row() -> CheckResult | None:
    newest = _newest()
    if newest is None or newest <= datetime.now(UTC) + _TOLERANCE:
        return None
    seconds = (newest - datetime.now(UTC)).total_seconds()
    return warn(
        "clock",
        f"it is {seconds:.0f} s behind the newest time in the database",
        f"{_SYNCHRONIZE} Ignore this if the clock was wrong before, and is right now.",
    )


def _newest() -> datetime | None:
    """Return when the newest request was made or the newest key was created."""
    from django.db import ProgrammingError

    from readback.cabinet.models import JournalEntry, Key

    found: list[datetime] = []
    for times in (
        JournalEntry.objects.order_by("-id").values_list("at", flat=True),
        Key.objects.order_by("-id").values_list("created_at", flat=True),
    ):
        try:
            found += times[:1]
        except ProgrammingError:  # the role of the API may not read it
            continue
    return max(found, default=None)
