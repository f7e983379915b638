"""Tests of the soak: its schedule and its judge."""
