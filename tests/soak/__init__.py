"""The soak: its short form on a real service, and whether to trust its judge."""
