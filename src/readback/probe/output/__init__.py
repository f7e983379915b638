"""How a run is shown: its progress, then the report in one of several forms."""
