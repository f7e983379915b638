"""The one Django app of the cabinet; its label is the prefix of its tables."""

from django.apps import AppConfig


class CabinetConfig(AppConfig):
    name = "readback.cabinet"
    label = "cabinet"
    verbose_name = "Readback"

    def ready(self) -> None:
        # Both register themselves with Django when they are imported.
        from readback.cabinet import checks, security_log  # noqa: F401
