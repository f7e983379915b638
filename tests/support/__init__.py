"""Helpers that several test folders share: plain code, no fixtures, no tests.

Most of them see the product from outside. These run parts of it in the test process:
echo_server.py and listener.py with real sockets, work.py and streams.py without.
"""
