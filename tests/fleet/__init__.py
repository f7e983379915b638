"""A fleet whose processes are killed and whose cables are cut."""
