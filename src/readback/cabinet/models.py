"""The tables: accounts, keys, what the keys did, and the address over time.

Names and types here are a contract with `readback.api.data.store`, which reads and
writes these tables with SQL of its own. Rules that need more than one row live in
`services.py`. Nothing of what a client said, and no key, has a column here.
"""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from readback import keys

# The journal's words for the two operations, and for all that is neither.
ENDPOINTS = (("models", "models"), ("chat", "chat"), ("other", "other"))

LABEL_LENGTH = 60


class UserManager(BaseUserManager["User"]):
    def create_user(
        self, email: str, password: str | None = None, **fields: Any
    ) -> "User":
        """Make an account; without a password it cannot log in until one is set."""
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """An account. Whether its e-mail is confirmed is allauth's to know."""

    email = models.EmailField(unique=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)
    # Empty: the browser's language.
    language = models.CharField(max_length=2, blank=True, default="")

    objects: ClassVar[UserManager] = UserManager()

    EMAIL_FIELD = USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), name="cabinet_user_email_any_case"),
        ]

    def __str__(self) -> str:
        return self.email


class Key(models.Model):
    """A key, of which only the digest and the last four characters are kept."""

    owner = models.ForeignKey(User, models.CASCADE, related_name="keys")
    label = models.CharField(max_length=LABEL_LENGTH, blank=True, default="")
    digest = models.BinaryField(max_length=32, unique=True)
    last_four = models.CharField(max_length=4)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return keys.masked(self.last_four)

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def is_active(self) -> bool:
        """Whether the key itself is good; its account must be, too."""
        return self.revoked_at is None and not self.is_expired


class Usage(models.Model):
    """How often a key got one outcome from one endpoint in one hour."""

    key = models.ForeignKey(Key, models.CASCADE, related_name="usage", db_index=False)
    hour = models.DateTimeField()
    endpoint = models.CharField(max_length=8, choices=ENDPOINTS)
    # The refusal's code; empty for a success.
    code = models.CharField(max_length=40, blank=True, default="")
    requests = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "usage"
        constraints = [
            models.UniqueConstraint(
                fields=["key", "hour", "endpoint", "code"], name="cabinet_usage_cell"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H:00} {self.endpoint} {self.code or 'accepted'}"


class JournalEntry(models.Model):
    """One request of a key, or several equal ones: what happened, not what was said."""

    key = models.ForeignKey(Key, models.CASCADE, related_name="journal", db_index=False)
    accepted = models.BooleanField()
    at = models.DateTimeField()
    endpoint = models.CharField(max_length=8, choices=ENDPOINTS)
    status = models.SmallIntegerField()
    code = models.CharField(max_length=40, blank=True, default="")
    detail = models.CharField(max_length=400, blank=True, default="")
    request_bytes = models.IntegerField(default=0)
    answer_bytes = models.IntegerField(default=0)
    user_agent = models.CharField(max_length=80, blank=True, default="")
    client_address = models.CharField(max_length=45, blank=True, default="")
    requests = models.IntegerField(default=1)

    class Meta:
        verbose_name_plural = "journal entries"
        indexes = [
            # "The last 100 successes (or failures) of this key" read this alone.
            models.Index(fields=["key", "accepted", "id"], name="cabinet_journal_last"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.endpoint} {self.status}"


class Address(models.Model):
    """The public address of the API from one moment on; the newest row is current."""

    base_url = models.CharField(max_length=400)
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "addresses"

    def __str__(self) -> str:
        return self.base_url


class CacheEntry(models.Model):
    """The table of Django's database cache, so that migrations make it, too."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "cabinet_cache"
        verbose_name_plural = "cache entries"

    def __str__(self) -> str:
        return self.cache_key
