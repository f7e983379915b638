"""How the API and the cabinet run: manager, workers, sockets, counters, shutdown."""
