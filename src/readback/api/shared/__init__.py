"""Memory that all workers of a machine share, made before they are forked."""
