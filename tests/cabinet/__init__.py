"""Tests of the account plane: models, services, pages, on SQLite and PostgreSQL."""
