"""Shared by the probe's folders: results, formatting and calls with a time limit."""

# The exit code that shells report for a program that was stopped with Ctrl-C.
INTERRUPTED = 130
