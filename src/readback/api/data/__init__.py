"""Keys and journal in memory, and the thread that keeps the database up to date."""
