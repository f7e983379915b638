"""E-mails to people: notices, the outbox where they wait, and the sender.

The services of the other folders add notices as part of a change.
"""
