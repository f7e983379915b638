"""Memory that all API workers of a machine share, created before they are forked."""
