"""The cabinet's Django app."""

from django.apps import AppConfig


class CabinetConfig(AppConfig):
    """Django uses the label as the prefix of table names."""

    name = "readback.cabinet"
    label = "cabinet"
    verbose_name = "Readback"

    def ready(self) -> None:
        # The import connects the signal handlers.
        from readback.cabinet.accounts import signals  # noqa: F401
