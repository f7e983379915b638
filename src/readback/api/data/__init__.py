"""Keys and journal in memory, and the thread that keeps them true to the database."""
