"""What an earlier release has signed or stored is still understood.

All of these depend on a text that was once the name of a module. Modules move; somebody
who has a cookie, a link, an authenticator app or a recovery code must not notice it.
"""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.utils import timezone

from readback.cabinet.accounts import invitations, login_limits
from readback.cabinet.accounts.email_changes import UndoToken
from readback.cabinet.models import Invitation
from readback.cabinet.second_factor import services, totp

DATABASES = ["sqlite"]
ALICE = "alice@example.org"


def test_the_secret_key_is_the_one_that_these_texts_were_made_with() -> None:
    assert settings.SECRET_KEY == "only-for-tests-" * 5


def test_a_known_browser_stays_known() -> None:
    tag = "9058d02cb121b9da530319e4a83ee368f1f83e387bb056f8ff1469ad716bb889"
    assert login_limits._tag("browser", ALICE) == tag


def test_a_link_that_undoes_a_change_of_the_address_works() -> None:
    text = (
        "WzEsImFsaWNlQGV4YW1wbGUub3JnIiwxLjBd:"
        "cpO8-Dzf6YK1HTigOGSodF3IFZ9ROOGc9u5JJst3e-8"
    )
    assert UndoToken(1, ALICE, 1.0).text == text


def test_a_recovery_code_works() -> None:
    digest = "ef0d8da2a69cf1e75c7d36ea46f6dea3824d7750903bb25ed638b28f5a15e11e"
    assert services.recovery_code_digest(1, "0123-4567-89ab-cdef") == digest


def test_the_secret_of_an_authenticator_app_can_be_read() -> None:
    stored = (
        "gAAAAABq-06Uo0Y13Zapw4A2XnGGV0L0IE-LlJpiEH4fGXTFwh8tkRxQtiwJ_"
        "nWlDLqau5K2i3Q9R2ZVodirUebsEXwfbN8h4byWpBY09j9T7_1X6dIBfKk="
    )
    assert totp.unseal(stored) == "JBSWY3DPEHPK3PXP"


def test_the_link_of_an_invitation_works(database) -> None:
    token = (
        "WzcsMTc2NzMyMzA0NTAwMDY3OF0:1xT1eu:g64CGttB6H9lUxlChHqdQKeryfqQQcncKFUbI9NIdeA"
    )
    invitation = Invitation.objects.create(
        pk=7,
        email=ALICE,
        created_at=datetime(2026, 1, 2, 3, 4, 5, 678, UTC),
        expires_at=timezone.now() + timedelta(days=1),
    )
    assert invitations.invitation_of_link(token) == invitation
