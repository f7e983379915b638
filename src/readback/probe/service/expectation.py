"""The step "Expect": whether a request that asks for `100 Continue` gets through.

.NET Framework sends `Expect: 100-continue` with every POST, and curl with large ones.
"""

from __future__ import annotations

from readback.probe.context import ProbeContext
from readback.probe.diagnoses import diagnose
from readback.probe.results import Diagnosis
from readback.probe.service.without_key import foreign_answer

_BODY = b"{}"


def check(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    # A step beside this one may go on as another program; both requests are of one.
    identity = dict(context.identity)
    how = foreign_answer(context, {"Expect": "100-continue"}, _BODY, identity)
    if not how:
        return diagnose("between.expect_ok")
    if foreign_answer(context, {}, _BODY, identity):
        return []  # The header makes no difference; other steps tell more.
    return diagnose("between.expect_refused", how=how)
