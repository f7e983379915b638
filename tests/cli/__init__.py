"""Tests of the command line from outside: processes, signals, sockets, terminals."""
