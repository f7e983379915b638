"""Tests of the soak test: its schedule, and the code that judges its results."""
