"""The test suite: one folder for each kind of evidence, real parts throughout."""
