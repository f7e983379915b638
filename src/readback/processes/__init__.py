"""How the API and the cabinet run: manager, workers, shutdown, sockets, counters."""
