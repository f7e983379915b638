"""What the admin calls tables and columns, instead of the names in the code.

Django shows the name of the model or the field, in English. Names that it translates
itself, and those that a list defines for itself, are not here.
"""

from django.utils.translation import gettext_lazy as _

NAMES = {
    "users": _("accounts"),
    "keys": _("keys"),
    "usage": _("usage"),
    "journal entries": _("journal"),
    "invitations": _("invitations"),
    "log entries": _("audit trail"),
    "email": _("e-mail address"),
    "is active": _("active"),
    "is staff": _("operator"),
    "date joined": _("joined"),
    "language": _("language"),
    "key": _("key"),
    "label": _("name"),
    "owner": _("owner"),
    "created at": _("created"),
    "expires at": _("expires"),
    "revoked at": _("revoked"),
    "replaced by": _("new key"),
    "last used at": _("last used"),
    "hour": _("hour"),
    "endpoint": _("endpoint"),
    "code": _("code"),
    "requests": _("requests"),
    "at": _("time"),
    "status": _("status"),
    "detail": _("detail"),
    "accepted": _("accepted"),
    "differences": _("differences"),
    "request bytes": _("bytes in"),
    "answer bytes": _("bytes out"),
    "user agent": _("program"),
    "client address": _("network"),
    "invited by": _("invited by"),
    "accepted at": _("accepted"),
}
