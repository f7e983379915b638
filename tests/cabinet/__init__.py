"""Tests of the cabinet: models, services and pages, on SQLite and PostgreSQL."""
