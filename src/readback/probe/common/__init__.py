"""Shared by the probe's folders: results, formatting and calls with a time limit."""
