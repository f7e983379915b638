"""Helpers that several test folders share: plain code, no fixtures, no tests.

Only echo_server.py and listener.py import the readback package, because they run its
protocol inside the test's process. Everything else sees the product from outside.
"""
