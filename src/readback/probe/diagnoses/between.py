"""Diagnoses of what happens to requests between this machine and the service."""

from __future__ import annotations

from readback.probe.diagnoses.templates import DiagnosisTemplate

BETWEEN: tuple[DiagnosisTemplate, ...] = ()
