"""Diagnoses of an endpoint that is not a Readback."""

from __future__ import annotations

from readback.probe.diagnoses.templates import DiagnosisTemplate

ENDPOINT: tuple[DiagnosisTemplate, ...] = ()
