"""What allauth calls internal and we need all the same, with the reason.

Such a name may move in any release, so pyproject.toml excludes those that nobody has
tested. Nothing else imports them: tests/house/test_allauth.py.
"""

# How a session was proved to be a person's. In public, `account.authentication` reads
# these records, and nothing adds to them.
from allauth.account.internal.flows.login import (
    record_authentication as record_authentication,
)

# What can ask an account for a proof: public views use it, and do not return it.
from allauth.account.internal.flows.reauthentication import (
    get_reauthentication_flows as get_reauthentication_flows,
)

# Continues with the form that was sent before the question for a proof. In public, only
# the views for a password and for a second factor do.
from allauth.account.internal.flows.reauthentication import (
    resume_request as resume_request,
)

# Counts of attempts. With `core.ratelimit`, which is public, a count cannot be undone
# and nobody knows when the next attempt is allowed.
from allauth.core.internal import ratelimit as ratelimit

# Records that a second factor was used. In public, only allauth's pages do, and ours
# replace them: docs/decisions.md.
from allauth.mfa.base.internal.flows import post_authentication as post_authentication

# The codes of RFC 6238. The public form says whether a code is right, and not of which
# period it is, so an earlier one could be used after it.
from allauth.mfa.totp.internal import auth as auth
