"""The account plane: accounts, keys, and the pages where people manage both.

Ordinary Django with django-allauth. Nothing here imports the API: the two planes
share only the database, whose tables `models.py` and the migrations define.
"""
