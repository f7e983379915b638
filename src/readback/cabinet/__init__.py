"""The account plane: accounts, keys, and the pages where people look after both.

Ordinary Django with django-allauth. Nothing here imports the API: the two planes
meet in the database, whose tables `models.py` and the migrations own.
"""
