"""Public pages: landing page, documentation, privacy, and files for programs.

Nobody has to log in for them, and none of them changes anything.
"""
