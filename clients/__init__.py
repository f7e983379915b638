"""The programs that people connect with, run against a live server.

`make clients` runs every client that installs here and writes docs/clients.md: which
works out of the box, with which setting, what its user sees when a request is refused,
and how often it tries again. What a client sent is recorded by a relay and by the
server's own journal, never assumed. The package uses helpers of `tests.support`; of the
tests, only those of the clients import it.
"""
