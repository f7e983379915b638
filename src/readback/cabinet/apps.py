"""The cabinet's Django app, and a change to one of allauth's."""

from allauth.usersessions.apps import UserSessionsConfig
from django.apps import AppConfig


class CabinetConfig(AppConfig):
    """The label is the prefix of the tables."""

    name = "readback.cabinet"
    label = "cabinet"
    verbose_name = "Readback"

    def ready(self) -> None:
        # Importing them registers the checks and signal handlers.
        from readback.cabinet import checks  # noqa: F401
        from readback.cabinet.accounts import sessions  # noqa: F401
        from readback.cabinet.serving import security_log  # noqa: F401


class SessionTableConfig(UserSessionsConfig):
    """The table of allauth's app, which `session_services.py` fills.

    allauth's own handlers would store whole addresses and what browsers send, and make
    three queries for each session of the account at every login.
    """

    def ready(self) -> None:
        pass
