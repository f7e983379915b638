"""What several test folders share: plain code, no fixtures, no tests.

Nothing here imports the readback package: the tests that stand on it look at
the product from the outside.
"""
