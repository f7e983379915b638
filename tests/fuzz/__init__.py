"""Coverage-guided fuzzing of bytes that strangers can send: `make fuzz`.

A target is a module with a function `check`, which takes any bytes and raises if a
promise is broken. The targets need no fuzzer: a test runs them over the corpus.
"""
