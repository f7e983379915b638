"""Many keys, many requests, several workers, and real databases of both kinds."""
