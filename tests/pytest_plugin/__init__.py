"""Tests of the pytest plugin from outside: whole runs of pytest in other folders."""
