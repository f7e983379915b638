"""The step "Expect": whether a request that asks for `100 Continue` gets through.

.NET Framework sends `Expect: 100-continue` with every POST, and curl with large ones.
"""

from __future__ import annotations

from readback.probe.common.results import Diagnosis
from readback.probe.diagnoses import diagnose
from readback.probe.service.without_key import foreign_answer
from readback.probe.transport.context import ProbeContext

_HEADER = {"Expect": "100-continue"}
_BODY = b"{}"


def check(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    # A step beside this one may go on as another program; all requests are of one.
    identity = dict(context.identity)
    if not foreign_answer(context, _HEADER, _BODY, identity):
        return diagnose("between.expect_ok")
    if foreign_answer(context, {}, _BODY, identity, is_patient=True):
        return []  # The header makes no difference; other steps tell more.
    # Once may be chance.
    how = foreign_answer(context, _HEADER, _BODY, identity, is_patient=True)
    if not how:
        return diagnose("between.expect_ok")
    return diagnose("between.expect_refused", how=how)
