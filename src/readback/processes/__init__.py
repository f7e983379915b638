"""How the API and the cabinet run: manager, workers, stops, sockets, counters."""
