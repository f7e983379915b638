"""Many keys and requests, several workers, and both kinds of database."""
