"""The command line, from the outside: real processes, signals, sockets, terminals."""
