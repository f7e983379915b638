"""What goes wrong around the service, and signals: whole processes, real sockets."""
