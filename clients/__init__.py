"""The programs that people connect with, run against a live server.

`make clients` installs a dozen libraries that most programs are built on, lets each
send one message as its documentation shows, and compares what happened with the table
of programs. What a client sent is read from the journal of its key, never assumed. The
package uses helpers of `tests.support`; only the tests of the clients import it.
"""
