"""Django's settings, derived from Readback's: operators never edit this file.

What an operator can choose stands in `readback.config`; what is decided for all
installations stands here, with the reason where it is not plain.
"""

from pathlib import Path
from urllib.parse import urlsplit

from readback import config as readback_config
from readback.cabinet import databases, mail, secret_key

CONFIG = readback_config.read()
_HERE = Path(__file__).parent
_CABINET = urlsplit(CONFIG.effective_cabinet_url)
_HTTPS = _CABINET.scheme == "https"

# The application

DEBUG = False
SECRET_KEY = secret_key.load(CONFIG)
ROOT_URLCONF = "readback.cabinet.urls"
WSGI_APPLICATION = "readback.cabinet.wsgi.application"
INSTALLED_APPS = [
    "readback.cabinet.apps.CabinetConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
]
MIDDLEWARE = [
    "readback.cabinet.middleware.health",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # Before the apps' own, so that ours replace allauth's pages.
        "DIRS": [_HERE / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "readback.cabinet.context.address",
            ],
        },
    },
]

# The database, and in it what all processes of the cabinet share

DATABASES = {"default": databases.default(CONFIG)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# allauth counts attempts in the cache: in memory, each process would count anew.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "cabinet_cache",
    },
}

# Language, time and files

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ru", "Русский")]
LOCALE_PATHS = [_HERE / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
# Files are served from the installed packages: there is no collectstatic step.
WHITENOISE_USE_FINDERS = True

# Mail

for _name, _value in mail.settings(CONFIG.smtp_url).items():
    globals()[_name] = _value
DEFAULT_FROM_EMAIL = SERVER_EMAIL = CONFIG.mail_from

# Who may ask, and what a browser may do

ALLOWED_HOSTS = [_CABINET.hostname]
if CONFIG.cabinet_bind.is_loopback and not CONFIG.cabinet_url:
    ALLOWED_HOSTS += ["localhost", "127.0.0.1", "[::1]"]
# Behind a proxy that speaks HTTPS, Django sees HTTP, and a form's Origin differs.
CSRF_TRUSTED_ORIGINS = [f"{_CABINET.scheme}://{_CABINET.netloc}"]
if CONFIG.trusted_proxy_count:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_REFERRER_POLICY = "same-origin"
# Redirecting to HTTPS is the proxy's work: done here, a proxy that does not say
# which scheme it was asked with would redirect for ever. W005 and W021 ask for
# promises about other names of the operator's domain, which are not ours to make.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
_COOKIE_PREFIX = "__Host-" if _HTTPS else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}session"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrf"
LANGUAGE_COOKIE_NAME = "language"
SESSION_COOKIE_AGE = 14 * 24 * 3600
X_FRAME_OPTIONS = "DENY"

# Accounts: e-mail is the login, and it is confirmed before anything else

AUTH_USER_MODEL = "cabinet.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
_VALIDATION = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": f"{_VALIDATION}.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": f"{_VALIDATION}.CommonPasswordValidator"},
    {
        "NAME": f"{_VALIDATION}.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ["email"]},
    },
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS = 1
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = _CABINET.scheme
ALLAUTH_TRUSTED_PROXY_COUNT = CONFIG.trusted_proxy_count
