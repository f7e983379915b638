"""Coverage-guided fuzzing of the bytes that strangers can send: `make fuzz`.

A target is a module whose function `check` takes any bytes, and raises if the product
breaks a promise. A test also runs the targets without the fuzzer, on the corpus.
"""
