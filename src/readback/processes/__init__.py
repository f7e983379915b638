"""How both planes run as processes: gunicorn, stops, listening sockets, counters."""
