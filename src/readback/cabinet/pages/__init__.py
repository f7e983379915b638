"""Public pages: landing page, documentation, privacy, and files for programs.

They need no login and change nothing.
"""
