"""Django's settings, derived from Readback's settings.

Operators never edit this file: their settings are in `readback.config`. Values that are
the same for all installations are set here.
"""

from pathlib import Path
from urllib.parse import urlsplit

from readback import config as readback_config
from readback import logs, setting_values
from readback.cabinet import account_rules
from readback.cabinet.mail import backends
from readback.cabinet.pages import brand
from readback.cabinet.serving import security_headers
from readback.cabinet.storage import databases, private_files

CONFIG = readback_config.read()
_HERE = Path(__file__).parent
_CABINET = urlsplit(CONFIG.effective_cabinet_url)
_HOST = setting_values.host_field(_CABINET.hostname or "")
BRAND = brand.read(CONFIG)
# Links in e-mails are built only from this, because a request's Host can be forged.
CABINET_URL = CONFIG.effective_cabinet_url
_HTTPS = CABINET_URL.startswith("https:")

# The application

SECRET_KEY = private_files.load_secret_key(CONFIG)
ROOT_URLCONF = "readback.cabinet.urls"
INSTALLED_APPS = [
    "readback.cabinet.apps.CabinetConfig",
    # urls.py imports the operators' pages. Discovering them automatically would make
    # every command import them, which takes a third of its time.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.usersessions",
]
MIDDLEWARE = [
    # These add headers to every response, including errors and static files.
    "readback.cabinet.middleware.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "readback.cabinet.middleware.simple_cookies",
    "readback.cabinet.middleware.health",
    # Before WhiteNoise, because a brand may replace favicon.ico.
    "readback.cabinet.middleware.brand_files",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "readback.cabinet.middleware.CountPages",
    "readback.cabinet.middleware.Sessions",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "readback.cabinet.middleware.session_lifetime",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "readback.cabinet.middleware.OldLogins",
    "readback.cabinet.middleware.only_single_sign_on",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # Searched before the apps' templates, so that ours replace allauth's pages.
        "DIRS": [_HERE / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["django.templatetags.i18n"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "readback.cabinet.context_processors.site",
            ],
        },
    },
]

# The database, and the cache in it, which all cabinet processes share

DATABASES = {"default": databases.default(CONFIG)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# allauth counts attempts in the cache. In memory, each process would count separately.
CACHES = {
    "default": {
        "BACKEND": "readback.cabinet.accounts.attempts.CountCache",
        "LOCATION": "cabinet_cache",
        # Beyond this number, Django drops a third of the counts; with its default of
        # 300, anyone could reset a count by filling the cache.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    },
}

# Language, time and files

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ru", "Русский")]
LOCALE_PATHS = [_HERE / "locale"]
TIME_ZONE = "UTC"
STATIC_URL = "static/"
# Files are served from the installed packages, without collectstatic.
WHITENOISE_USE_FINDERS = True
# Files whose address does not begin with /static/: favicon.ico, robots.txt.
WHITENOISE_ROOT = _HERE / "root"

# Mail

for _name, _value in backends.settings(CONFIG.smtp_url).items():
    globals()[_name] = _value
DEFAULT_FROM_EMAIL = SERVER_EMAIL = backends.sender(CONFIG.mail_from, BRAND.name)

# Hosts, proxies, cookies and security headers

ALLOWED_HOSTS = [_HOST]
# In a container, the cabinet listens on all addresses, and people use
# http://localhost:8001. No site can have these names, so DNS rebinding is no danger.
if CONFIG.cabinet_bind.accepts_loopback and not CONFIG.cabinet_url:
    ALLOWED_HOSTS += ["localhost", "127.0.0.1", "[::1]"]
# Behind an HTTPS proxy, Django receives HTTP; without this, it would refuse all forms.
_PORT = f":{_CABINET.port}" if _CABINET.port else ""
CSRF_TRUSTED_ORIGINS = [f"{_CABINET.scheme}://{_HOST}{_PORT}"]
if CONFIG.trusted_proxy_count:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Our middleware sends the HSTS header; `check --deploy` looks for this setting.
SECURE_HSTS_SECONDS = security_headers.HSTS_SECONDS if _HTTPS else 0
# The proxy redirects to HTTPS. If Django did, a proxy that does not forward the scheme
# would cause an endless redirect. W005 and W021 ask for HSTS on subdomains and in
# browsers' preload lists, which the operator has to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _HTTPS
# Our scripts do not read cookies; forms contain the CSRF token.
CSRF_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_SAMESITE = "Lax"
# Browsers accept a cookie with this prefix only from this host, over HTTPS.
_COOKIE_PREFIX = "__Host-" if _HTTPS else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}session"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrf"
LANGUAGE_COOKIE_NAME = f"{_COOKIE_PREFIX}language"
# A session's row has a digest of the cookie, and data encrypted with the secret key.
SESSION_ENGINE = "readback.cabinet.storage.sealing"
SESSION_SERIALIZER = "readback.cabinet.storage.sealing.SealedSerializer"
# A message may contain an e-mail address, so it is not stored in a cookie.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
# A session ends two days after its last use, and at most two weeks after the login.
SESSION_COOKIE_AGE = 2 * 24 * 3600
SESSION_ABSOLUTE_AGE = 14 * 24 * 3600
# The largest form field is the text of a key test; Django's default is 40 times larger.
DATA_UPLOAD_MAX_MEMORY_SIZE = 65_536
# The form with the most fields is an operators' list. The time that Django takes for a
# multipart form grows faster than the number of its parts.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200

# Accounts: people log in with their e-mail address, which must be confirmed

AUTH_USER_MODEL = "cabinet.User"
AUTHENTICATION_BACKENDS = ["readback.cabinet.accounts.adapter.OwnAddressBackend"]
PASSWORD_HASHERS = ["readback.cabinet.accounts.passwords.Argon2Hasher"]
MIN_PASSWORD_LENGTH = 12
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": MIN_PASSWORD_LENGTH},
    },
    {"NAME": "readback.cabinet.accounts.passwords.StrengthValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "keys"
PASSWORD_RESET_TIMEOUT = 3600
ACCOUNT_ADAPTER = "readback.cabinet.accounts.adapter.CabinetAdapter"
_FORMS = "readback.cabinet.accounts.forms"
ACCOUNT_FORMS = {
    "signup": f"{_FORMS}.SignupForm",
    "login": f"{_FORMS}.LoginForm",
    "add_email": f"{_FORMS}.AddEmailForm",
    "change_password": f"{_FORMS}.ChangePasswordForm",
    "set_password": f"{_FORMS}.SetPasswordForm",
    "reset_password": f"{_FORMS}.ResetPasswordForm",
    "reset_password_from_key": f"{_FORMS}.ResetPasswordKeyForm",
    "reauthenticate": f"{_FORMS}.ReauthenticateForm",
}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS = 1
# This logs in the browser that signed up, but no other browser that opens the link.
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 15 * 60
ALLAUTH_TRUSTED_PROXY_COUNT = CONFIG.trusted_proxy_count
# Per client address (ip), per logged-in account (user), or per value that the action
# chooses (key), usually the requested account. For actions that are not listed here,
# such as sign-ups, allauth's defaults apply; docs/limits.md has all of them.
ACCOUNT_RATE_LIMITS = {
    # Wrong passwords: per network, and per network and account, so that no one on
    # another network can lock the owner out. Wrong second-factor codes: per account;
    # three of a million codes are valid at a time.
    "login_failed": "10/m/ip,5/5m/key,100/d/key",
    "download_data": "2/m/user",
    # E-mails that a visitor asks for: per sender and mailbox, per mailbox, and per
    # sender. It takes several senders to use up a mailbox's limit.
    "mail_by_and_to": "6/h/key,20/d/key",
    "mail_to": "20/h/key,60/d/key",
    "mail_by_address": "60/h/ip,200/d/ip",
    "mail_by_account": "60/h/user,200/d/user",
    # Tests that the cabinet sends to the API.
    "send_test": "10/m/user,30/m/ip",
    # Notices to owners about changes to their accounts.
    "notice_to": "60/h/key,200/d/key",
}

# The second factor

MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_ADAPTER = "readback.cabinet.accounts.second_factor.CabinetMFAAdapter"
_FACTORS = "readback.cabinet.accounts.second_factor"
MFA_FORMS = {
    "activate_totp": f"{_FACTORS}.ActivateTOTPForm",
    "authenticate": f"{_FACTORS}.LoginCodeForm",
    "reauthenticate": f"{_FACTORS}.ConfirmCodeForm",
    "authenticate_webauthn": f"{_FACTORS}.AuthenticatePasskeyForm",
    "reauthenticate_webauthn": f"{_FACTORS}.ReauthenticatePasskeyForm",
    "login_webauthn": f"{_FACTORS}.LoginPasskeyForm",
    "add_webauthn": f"{_FACTORS}.AddPasskeyForm",
    "edit_webauthn": f"{_FACTORS}.EditPasskeyForm",
}
# A passkey is enough to log in, so a stolen security key must not work without its PIN.
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_RECOVERY_CODE_DIGITS = 16
# Authenticator apps treat a colon as the end of the issuer.
MFA_TOTP_ISSUER = f"{BRAND.name.replace(':', '')} ({_CABINET.hostname})"
# Clocks differ, so codes from the periods before and after are valid, too.
MFA_TOTP_TOLERANCE = 1
# Otherwise, allauth does not let an account with a second factor change its address.
# In the cabinet, an unconfirmed address identifies no account.
MFA_ALLOW_UNVERIFIED_EMAIL = True

# Single sign-on. The provider is not an installed app, because that would import its
# libraries at startup; the adapter creates it.

SOCIALACCOUNT_ADAPTER = "readback.cabinet.accounts.single_sign_on.CabinetSocialAdapter"
SOCIALACCOUNT_PROVIDERS = account_rules.providers(CONFIG)

# Errors and the security log are written to stderr. Requests that fail because of the
# client are not logged: otherwise anyone could fill the log.

LOGGING = logs.configuration()
LOGGING["loggers"] = {
    "django": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
    # Its lines contain the path, which is secret in links from e-mails. The view for
    # server errors logs the error instead.
    "django.request": {"level": "CRITICAL"},
    # Scanners cause its errors, with wrong host names and bodies that are too large.
    "django.security": {"level": "CRITICAL"},
    # `security_log.enable` adds the handler.
    "readback.security": {"level": "INFO", "propagate": False},
}
