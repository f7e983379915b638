"""The cabinet's Django app."""

from django.apps import AppConfig


class CabinetConfig(AppConfig):
    """The label is the prefix of the tables."""

    name = "readback.cabinet"
    label = "cabinet"
    verbose_name = "Readback"

    def ready(self) -> None:
        # Importing it connects its signal handlers.
        from readback.cabinet.accounts import signals  # noqa: F401
