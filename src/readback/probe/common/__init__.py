"""Shared by all folders of the probe: results, formatting, calls with a time limit."""

# The exit code that shells report for a program that was stopped with Ctrl-C.
INTERRUPTED = 130
