"""Django settings. Everything an operator may change comes from the environment (`environment.py`)."""

import os
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from memoryconsole.embedded import paths
from memoryconsole.environment import EnvironmentFault, read_environment, reconstruct_policy

BASE_DIR = Path(__file__).resolve().parent.parent

try:
    ENVIRONMENT = read_environment(os.environ)
except EnvironmentFault as fault:
    raise ImproperlyConfigured(str(fault)) from fault

DEBUG = ENVIRONMENT["MEMORYCONSOLE_DEBUG"]
EMBEDDED_DATABASE = ENVIRONMENT["DATABASE_URL"] is None


def _secret_key() -> str:
    """The operator's key, or, beside the embedded database, one kept in its state folder."""
    given = ENVIRONMENT["MEMORYCONSOLE_SECRET_KEY"]
    if given:
        return str(given)
    if not EMBEDDED_DATABASE and not DEBUG:
        raise ImproperlyConfigured(
            "DATABASE_URL is set, so MEMORYCONSOLE_SECRET_KEY is required too (unset it to use the embedded database)"
        )
    return paths.secret_key()


SECRET_KEY = _secret_key()
ALLOWED_HOSTS = ENVIRONMENT["MEMORYCONSOLE_ALLOWED_HOSTS"]
CSRF_TRUSTED_ORIGINS = ENVIRONMENT["MEMORYCONSOLE_CSRF_TRUSTED_ORIGINS"]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "memoryconsole",
    "reconstruct",
    "provenance",
]

MIDDLEWARE = [
    "memoryconsole.middleware.RequestIdMiddleware",
    "memoryconsole.middleware.LargeBodyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "memoryconsole.middleware.FormSizeMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "memoryconsole.urls"
WSGI_APPLICATION = "memoryconsole.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


# A bulk write holds its store's counter for about a second.
LOCK_TIMEOUT_MS = 5000


def _database() -> dict[str, Any]:
    from psycopg.conninfo import conninfo_to_dict

    url = ENVIRONMENT["DATABASE_URL"] or paths.database_url()
    try:
        parts = conninfo_to_dict(url)
    except Exception as fault:
        # The text may hold a password: say that it is unreadable, not what it is.
        raise ImproperlyConfigured("DATABASE_URL is not a PostgreSQL connection address") from fault
    known = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    options = {key: value for key, value in parts.items() if key not in known}
    # A statement that waits for a lock gives up and is answered 503: one locked table must not hold every thread.
    preset = f"-c lock_timeout={LOCK_TIMEOUT_MS}"
    keeps_plans = ENVIRONMENT["MEMORYCONSOLE_PREPARED_STATEMENTS"]
    if keeps_plans:
        # A plan that stays with a connection (`statements.py`) is one for all values, or it would be made for each.
        preset += " -c plan_cache_mode=force_generic_plan"
    options["options"] = f"{preset} {options.get('options', '')}".strip()
    return {
        "ENGINE": "django.db.backends.postgresql",
        **{django: parts.get(ours, "") or "" for ours, django in known.items()},
        "CONN_MAX_AGE": 0,
        # A pooled connection is tried before it is handed out: a restarted database costs nobody an error.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **options,
            # Whether `statements.py` may leave plans with a connection: 0 is at once, None is never.
            "prepare_threshold": 0 if keeps_plans else None,
            "pool": {"min_size": 1, "max_size": ENVIRONMENT["MEMORYCONSOLE_POOL_SIZE"], "timeout": 5},
        },
    }


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "memoryconsole.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "console:sign-in"
LOGIN_REDIRECT_URL = "console:home"
LOGOUT_REDIRECT_URL = "console:sign-in"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Files are served from their folders, found at start-up: a checkout needs no build step to be looked at.
WHITENOISE_USE_FINDERS = True

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT["MEMORYCONSOLE_HTTPS"]
SECURE_SSL_REDIRECT = ENVIRONMENT["MEMORYCONSOLE_HTTPS"]
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]  # asked from inside, without TLS
SECURE_HSTS_SECONDS = 31_536_000 if ENVIRONMENT["MEMORYCONSOLE_HTTPS"] else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENVIRONMENT["MEMORYCONSOLE_HTTPS"] else None
CSRF_FAILURE_VIEW = "memoryconsole.http.csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    },
}

# The body limit is enforced by the JSON parser (413 with a problem body); Django's own stays above it.
MAX_BODY_BYTES = ENVIRONMENT["MEMORYCONSOLE_MAX_BODY_BYTES"]
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES + 1
# Files for imports are never in memory as a whole, so they may be larger.
MAX_IMPORT_BYTES = ENVIRONMENT["MEMORYCONSOLE_MAX_IMPORT_BYTES"]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "memoryconsole.http.TokenAuthentication",
        "memoryconsole.http.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["memoryconsole.http.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["memoryconsole.http.QuickJSON"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "memoryconsole.http.AlwaysJSON",
    "EXCEPTION_HANDLER": "memoryconsole.http.problem_response",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "memoryconsole",
    "DESCRIPTION": "One memory, three read contracts, one audit.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "memoryconsole.openapi.closed_bodies",
    ],
    "ENUM_NAME_OVERRIDES": {"SummarySourceType": "memoryconsole.models.summaries.SourceType"},
}

CELERY_BROKER_URL = ENVIRONMENT["CELERY_BROKER_URL"] or paths.broker_url()
CELERY_TASK_ALWAYS_EAGER = JOBS_INLINE = ENVIRONMENT["MEMORYCONSOLE_JOBS_INLINE"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# No pool: kombu's waits without end once connections to a broker that is away have used it up, and a write must
# never hang on its message. Opening a connection to a local broker takes a millisecond.
CELERY_BROKER_POOL_LIMIT = 0
# visibility: a message that outlives it is sent again, which a job's lease makes harmless. Timeouts in seconds.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_connect_timeout": 2,
    "socket_timeout": 2,
    "max_retries": 0,
}
CELERY_BEAT_SCHEDULE = {
    "sweep-jobs": {"task": "memoryconsole.tasks.sweep_jobs", "schedule": 15.0, "options": {"expires": 15}},
    "prune": {"task": "memoryconsole.tasks.prune", "schedule": 3600.0, "options": {"expires": 3600}},
}

EMBEDDER = ENVIRONMENT["MEMORYCONSOLE_EMBEDDER"]
RECONSTRUCT = reconstruct_policy(ENVIRONMENT)
CONTEXT_TOKENS = ENVIRONMENT["MEMORYCONSOLE_CONTEXT_TOKENS"]
SYNTHESIS = {
    "url": ENVIRONMENT["MEMORYCONSOLE_SYNTHESIS_URL"],
    "model": ENVIRONMENT["MEMORYCONSOLE_SYNTHESIS_MODEL"],
    "key": ENVIRONMENT["MEMORYCONSOLE_SYNTHESIS_KEY"] or "",
    "timeout_seconds": ENVIRONMENT["MEMORYCONSOLE_SYNTHESIS_SECONDS"],
    "max_bytes": ENVIRONMENT["MEMORYCONSOLE_SYNTHESIS_MAX_BYTES"],
}
TRACE_DAYS = ENVIRONMENT["MEMORYCONSOLE_TRACE_DAYS"]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "memoryconsole.middleware.RequestIdFilter"}},
    "formatters": {"json": {"()": "memoryconsole.middleware.JsonFormatter"}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["request_id"]}
    },
    "root": {"handlers": ["console"], "level": ENVIRONMENT["MEMORYCONSOLE_LOG_LEVEL"]},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "propagate": True},
    },
}
