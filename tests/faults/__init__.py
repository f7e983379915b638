"""Injected faults and signals, with whole processes and real sockets."""
