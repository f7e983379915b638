"""Public pages: landing page, documentation, privacy, and files for programs.

They require no login and change nothing.
"""
