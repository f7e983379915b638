"""The cabinet: accounts, keys, and the pages where people manage both.

Ordinary Django with django-allauth, in seven folders by what people do there; imports
between them point one way (docs/architecture.md). A page reads with selectors, changes
with services, and renders. Nothing here imports the API: they share only the
database, whose tables `models.py` and the migrations define.
"""
