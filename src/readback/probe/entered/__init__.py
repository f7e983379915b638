"""The address and the key as the person entered them, before anything is sent."""
