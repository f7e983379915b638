"""Times in files that people download: ISO 8601, in UTC, with milliseconds."""

from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
