"""The tables: accounts, keys, usage, journal, unmatched requests, e-mail.

`readback.api.data.store` reads and writes some of them with SQL, so it depends on their
names. Rules that involve several rows are in the services. No column stores a key, the
text of a request or an unencrypted secret link.
"""

from datetime import datetime
from typing import Any, ClassVar, Self

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from readback import contract, keys, programs
from readback.client_address import NETWORK_DIGEST_LENGTH
from readback.rehearsal import MAX_PATTERN_LENGTH, REHEARSED

LABEL_LENGTH = 60
ENDPOINT_LENGTH = 8
CODE_LENGTH = 40
_ENDPOINT_CHOICES = [(endpoint, endpoint) for endpoint in contract.ENDPOINTS]


def _text(length: int, **options: Any) -> "models.CharField[str, str]":
    """Return a text column that may be empty."""
    return models.CharField(max_length=length, blank=True, default="", **options)


class KeyState(models.TextChoices):
    """A key's state, regardless of its account's state."""

    ACTIVE = "active", _("active")
    EXPIRED = "expired", _("expired")
    REVOKED = "revoked", _("revoked")


class User(AbstractBaseUser):
    """An account. allauth's EmailAddress stores whether its address is confirmed.

    All operators have the same rights.
    """

    email = models.EmailField(_("e-mail address"), unique=True)
    is_active = models.BooleanField(_("active"), default=True)
    is_staff = models.BooleanField(_("operator"), default=False)
    date_joined = models.DateTimeField(_("joined"), default=timezone.now)
    # For e-mails: the language of the pages at the sign-up or the last login, if any.
    language = _text(2)

    objects: ClassVar[BaseUserManager[Self]] = BaseUserManager()

    EMAIL_FIELD = USERNAME_FIELD = "email"

    class Meta:
        verbose_name = _("account")
        verbose_name_plural = _("accounts")
        constraints = [
            models.UniqueConstraint(Lower("email"), name="cabinet_user_email_any_case"),
        ]

    def __str__(self) -> str:
        return self.email

    def has_perm(self, permission: str, row: object = None) -> bool:
        """Return whether the account may use Django's admin."""
        return self.is_active and self.is_staff

    has_module_perms = has_perm


def key_is_active() -> models.Q:
    """Return the query condition for `Key.is_active`."""
    unexpired = models.Q(expires_at=None) | models.Q(expires_at__gt=timezone.now())
    return unexpired & models.Q(revoked_at=None)


class Key(models.Model):
    """A key, of which only the digest and the last four characters are stored."""

    owner = models.ForeignKey(
        User, models.CASCADE, related_name="keys", verbose_name=_("owner")
    )
    label = _text(LABEL_LENGTH, verbose_name=_("name"))
    digest = models.BinaryField(max_length=keys.DIGEST_LENGTH, unique=True)
    last_four = models.CharField(max_length=keys.SHOWN_LENGTH)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)
    # When the owner was last reminded that the key expires.
    reminded_at = models.DateTimeField(null=True, editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)
    # Whether refusals have an `error.message`, which the contract does not require.
    explains_refusals = models.BooleanField(default=False, db_default=False)
    # The pattern of a rehearsal key, which never changes; empty for every other key.
    rehearsal = _text(
        MAX_PATTERN_LENGTH,
        db_default="",
        editable=False,
        verbose_name=_("rehearsal"),
    )
    # `created` in the API's last answer to a request with this key.
    last_created = models.BigIntegerField(null=True, editable=False)
    # The new key, if this key was rotated.
    replaced_by = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("new key"),
    )

    class Meta:
        verbose_name = _("key")
        verbose_name_plural = _("keys")
        indexes = [
            # To find the keys that expire soon.
            models.Index(
                fields=["expires_at"],
                condition=models.Q(revoked_at=None, expires_at__isnull=False),
                name="cabinet_key_expiry",
            ),
        ]

    def __str__(self) -> str:
        return keys.masked(self.last_four)

    @property
    def name(self) -> str:
        return self.label or str(self)

    @property
    def renewed_expiry(self) -> datetime | None:
        """When a new key with this key's lifetime would expire."""
        if self.expires_at is None:
            return None
        return timezone.now() + (self.expires_at - self.created_at)

    @property
    def state(self) -> KeyState:
        if self.revoked_at is not None:
            return KeyState.REVOKED
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return KeyState.EXPIRED if is_expired else KeyState.ACTIVE

    @property
    def is_active(self) -> bool:
        return self.state is KeyState.ACTIVE


class Usage(models.Model):
    """The number of a key's requests with the same endpoint and outcome in an hour."""

    key = models.ForeignKey(Key, models.CASCADE, related_name="usage", db_index=False)
    hour = models.DateTimeField()
    endpoint = models.CharField(max_length=ENDPOINT_LENGTH, choices=_ENDPOINT_CHOICES)
    # The code of the refusal; empty for an accepted request.
    code = _text(CODE_LENGTH)
    requests = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key", "hour", "endpoint", "code"], name="cabinet_usage_cell"
            )
        ]
        indexes = [models.Index(fields=["hour"], name="cabinet_usage_hour")]


class JournalEntry(models.Model):
    """The outcome of one or more identical requests with a key; never their text."""

    key = models.ForeignKey(Key, models.CASCADE, related_name="journal", db_index=False)
    accepted = models.BooleanField()
    at = models.DateTimeField()
    endpoint = models.CharField(max_length=ENDPOINT_LENGTH, choices=_ENDPOINT_CHOICES)
    status = models.SmallIntegerField()
    code = _text(CODE_LENGTH)
    detail = _text(contract.MAX_DETAIL_LENGTH)
    # Ids of `readback.differences`, separated by spaces.
    differences = _text(contract.JOURNAL_DIFFERENCES_LENGTH, db_default="")
    request_bytes = models.IntegerField(default=0)
    answer_bytes = models.IntegerField(default=0)
    user_agent = _text(contract.JOURNAL_USER_AGENT_LENGTH)
    client_address = _text(contract.JOURNAL_ADDRESS_LENGTH)
    requests = models.IntegerField(default=1)

    class Meta:
        indexes = [
            # To find a key's newest accepted or refused rows, and old rows to delete.
            models.Index(fields=["key", "accepted", "id"], name="cabinet_journal_last"),
            models.Index(fields=["at"], name="cabinet_journal_at"),
        ]

    @property
    def is_rehearsed(self) -> bool:
        return self.code == REHEARSED


class UnmatchedRequest(models.Model):
    """Identical requests without an accepted key, stored only while pages show them."""

    network = models.BinaryField(max_length=NETWORK_DIGEST_LENGTH)
    at = models.DateTimeField(db_index=True)
    endpoint = models.CharField(max_length=ENDPOINT_LENGTH, choices=_ENDPOINT_CHOICES)
    code = models.CharField(max_length=CODE_LENGTH)
    detail = _text(contract.MAX_DETAIL_LENGTH)
    user_agent = _text(contract.JOURNAL_USER_AGENT_LENGTH)
    requests = models.BigIntegerField(default=1)

    class Meta:
        indexes = [models.Index(fields=["network", "id"], name="cabinet_unmatched")]

    @property
    def status(self) -> int:
        return contract.REFUSALS[self.code].status.value

    @property
    def program(self) -> str:
        """The usual name of the program, or what it calls itself."""
        recognised = programs.recognise(self.user_agent)
        return recognised.name if recognised else self.user_agent


class NetworkKey(models.Model):
    """The key for hashing the addresses of unmatched requests; there is one row."""

    key = models.BinaryField(max_length=32)


class UsageWriter(models.Model):
    """A worker that writes usage and journals, and the number of its last batch.

    If the answer to a COMMIT is lost, the number tells the worker whether the batch was
    written.
    """

    id = models.BigIntegerField(primary_key=True)
    batch = models.BigIntegerField()
    at = models.DateTimeField()


class AuditEntry(models.Model):
    """An operator's change to an account or a key.

    It references no other row, so it stays when the account or the key is deleted.
    Django's own log loses the entries of an operator who is deleted.
    """

    at = models.DateTimeField(_("time"), default=timezone.now)
    by = models.EmailField(_("operator"))
    by_id = models.BigIntegerField()
    object_type = models.CharField(_("table"), max_length=20)
    object_id = models.BigIntegerField()
    object_name = models.CharField(_("object"), max_length=254)
    change = models.CharField(_("change"), max_length=100)  # in English

    class Meta:
        verbose_name = _("action")
        verbose_name_plural = _("actions")
        indexes = [
            models.Index(fields=["object_type", "object_id"], name="cabinet_audit"),
        ]


class OutgoingMail(models.Model):
    """An e-mail that has not been sent yet; its subject and body are encrypted."""

    # The path of the template, without "_subject.txt" or "_message.txt".
    template = models.CharField(max_length=60)
    # The recipient's account, if any; if it is deleted, so is the e-mail.
    account = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    address = models.EmailField()
    sealed = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)
    # When to send it next; once a sender has claimed it, when the claim ends.
    due_at = models.DateTimeField(default=timezone.now, db_index=True)
    expires_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.template} {self.pk}"


class MailOutcome(models.TextChoices):
    SENT = "sent"
    REFUSED = "refused"  # by the mail server, permanently
    EXPIRED = "expired"  # too old to be useful, or no longer decryptable


class MailTotal(models.Model):
    """How many e-mails have had this outcome since the database was created."""

    outcome = models.CharField(max_length=10, primary_key=True)
    mails = models.BigIntegerField(default=0)


class LastBackup(models.Model):
    """When `readback backup` last wrote an archive; one row, or none."""

    at = models.DateTimeField()


class CacheEntry(models.Model):
    """The table of Django's database cache, declared so that migrations create it."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "cabinet_cache"
