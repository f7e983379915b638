"""Keys and journal in memory, and the thread that syncs them with the database."""
