"""The test suite: one folder for each kind of test."""
