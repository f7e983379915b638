"""The cabinet: accounts, keys, and the pages where people manage both.

Ordinary Django with django-allauth, in seven folders, one for each area; imports
between them point one way (docs/architecture.md). Pages read data with selectors and
change it with services. Nothing here imports the API: the two share only the database,
whose tables `models.py` and the migrations define.
"""
