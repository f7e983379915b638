"""How both planes run as processes: manager, workers, stops, sockets, counters."""
