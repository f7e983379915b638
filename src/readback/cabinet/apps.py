"""The cabinet's Django app; its label is the prefix of its tables."""

from django.apps import AppConfig


class CabinetConfig(AppConfig):
    name = "readback.cabinet"
    label = "cabinet"
    verbose_name = "Readback"

    def ready(self) -> None:
        # Importing them registers the checks, admin pages and signal handlers.
        from readback.cabinet import (  # noqa: F401
            checks,
            invitation_admin,
            security_log,
        )
