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
