"""E-mails to people: what is worth one, the outbox where it waits, and its sender.

The services of the other folders add notices as part of a change. How an e-mail reads,
and where its link leads, is in `rendering.py`.
"""
