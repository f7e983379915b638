"""User journeys in a real browser, with the real service and a real mail server."""
