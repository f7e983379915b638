"""Explanations of refusals: the detail that the API wrote, without its advice."""

import pytest

from readback import differences, programs
from readback.api.endpoints.refusal import Finding, explain
from readback.cabinet.keys import refusals
from readback.cabinet.models import JournalEntry

CURL, LIBRARY = "curl/8.5.0", "OpenAI/Python 3.49.0"


@pytest.mark.parametrize("user_agent", ["", CURL, LIBRARY, "node"])
def test_details_leave_out_the_advice_that_is_shown(user_agent):
    for ids in (["stream"], ["n"], ["content-type"], ["temperature", "*", "zebra"]):
        findings = [
            Finding("unknown_field", (each,), "It differs.", "it differs")
            for each in ids
        ]
        explained = explain(findings, user_agent)
        assert len(explained.detail) > len("It differs.")
        row = JournalEntry(
            accepted=False,
            code=explained.code,
            detail=explained.detail,
            differences=explained.differences,
            user_agent=user_agent,
        )
        finding = refusals.explain(row).finding
        assert finding.startswith("It differs.")
        for each in ids:
            assert differences.advice(each) not in finding
        assert "curl: " not in finding and "openai for Python" not in finding


def test_details_leave_out_that_a_program_cannot_comply():
    never = [row for row in programs.table() if "*" in row.cannot]
    assert never
    for program in never:
        detail = f"It differs. {program.hint(['zebra'], connected=True)}"
        row = JournalEntry(
            accepted=False, code="unknown_field", detail=detail, differences="zebra"
        )
        row.recognised = program
        assert refusals.explain(row).finding == "It differs."


def test_details_leave_out_that_a_program_cannot_switch():
    recognised = programs.recognise("codex_exec/0.166.0")
    assert recognised
    row = JournalEntry(
        accepted=False,
        code="not_found",
        detail=f"It differs. {recognised.hint(['/responses'], connected=False)}",
        differences="/responses",
        user_agent="codex_exec/0.166.0",
    )
    assert refusals.explain(row).finding == "It differs."
