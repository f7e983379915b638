"""The soak: its short form on a real service, and whether its judge can be trusted."""
