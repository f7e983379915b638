"""Imported by a process that forks others: the models and pages of the cabinet.

Django imports them only after it has read its settings, which takes half of a command's
CPU time. So it reads the default ones here and forgets them again: each forked process
reads its own settings and fills the list of its apps.

Nothing that is imported may keep what differs between two installations, so this fails
if it reads such a setting.
"""

import os
import sys
import time
from importlib import import_module

from django.apps import apps
from django.conf import LazySettings, settings
from django.db import connections
from django.utils.functional import empty

_MODULE = "readback.cabinet.settings"
_NEEDED = {"DJANGO_SETTINGS_MODULE": _MODULE, "READBACK_SECRET_KEY": "x" * 50}
# The same in every installation; most are defaults of Django and allauth.
_CONSTANT = {
    "ABSOLUTE_URL_OVERRIDES",
    "ACCOUNT_CHANGE_EMAIL",
    "ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS",
    "ACCOUNT_EMAIL_MAX_LENGTH",
    "ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED",
    "ACCOUNT_LOGIN_BY_CODE_ENABLED",
    "ACCOUNT_LOGIN_BY_CODE_TRUST_ENABLED",
    "ACCOUNT_PASSWORD_INPUT_RENDER_VALUE",
    "ACCOUNT_PASSWORD_RESET_BY_CODE_ENABLED",
    "ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR",
    "ACCOUNT_SIGNUP_FIELDS",
    "ACCOUNT_SIGNUP_FORM_CLASS",
    "ACCOUNT_TEMPLATE_EXTENSION",
    "ACCOUNT_UNIQUE_EMAIL",
    "ACCOUNT_USERNAME_MIN_LENGTH",
    "ALLAUTH_DEFAULT_AUTO_FIELD",
    "ALLAUTH_SETTING_GETTER",
    "AUTH_USER_MODEL",
    "DEBUG",
    "DEFAULT_AUTO_FIELD",
    "DEFAULT_INDEX_TABLESPACE",
    "DEFAULT_TABLESPACE",
    "INSTALLED_APPS",
    "LANGUAGES",
    "LANGUAGE_CODE",
    "LOCALE_PATHS",
    "MFA_PASSKEY_LOGIN_ENABLED",
    "MFA_PASSKEY_SIGNUP_ENABLED",
    "MFA_SUPPORTED_TYPES",
    "MFA_TRUST_ENABLED",
    "MIDDLEWARE",
    "MIN_PASSWORD_LENGTH",
    "PASSWORD_RESET_TIMEOUT",
    "ROOT_URLCONF",
    "SOCIALACCOUNT_ONLY",
    "USE_I18N",
}
# Django asks how long the name of a table may be; ours are short enough for all.
_HARMLESS = {"DATABASES"}


def _import_apps() -> None:
    """Let Django import the apps with default settings, whatever the environment."""
    names = [
        name for name in os.environ if name.startswith("READBACK_") or name == "TZ"
    ]
    environment = {name: os.environ.pop(name) for name in names}
    os.environ.update(_NEEDED)
    try:
        apps.populate(settings.INSTALLED_APPS)
        import_module(settings.ROOT_URLCONF)
        for name in settings.MIDDLEWARE:
            import_module(name.rpartition(".")[0])
    finally:
        for name in (*_NEEDED, "TZ"):  # Django sets the latter
            os.environ.pop(name, None)
        os.environ.update(environment)
        time.tzset()


def _settings_read() -> set[str]:
    """Import the apps; return the names of the settings that were read."""
    read: set[str] = set()
    original = LazySettings.__getattr__

    def note(self: LazySettings, name: str) -> object:
        read.add(name)
        return original(self, name)

    LazySettings.__getattr__ = note
    try:
        _import_apps()
    finally:
        LazySettings.__getattr__ = original
    return read


def _forget() -> None:
    """Make Django as it was before its settings were read."""
    settings._wrapped = empty
    del sys.modules[_MODULE]
    apps.app_configs.clear()
    apps.apps_ready = apps.models_ready = apps.ready = apps.loading = False
    apps.ready_event.clear()
    apps.clear_cache()
    del connections["default"]
    del connections.settings
    connections._settings = None


_unknown = _settings_read() - _CONSTANT - _HARMLESS
assert not _unknown, f"imported with the default of {_unknown}"
_forget()
