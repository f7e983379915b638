"""What operators see and do: overview, accounts, keys, invitations, and metrics.

They change nothing but through the services of the other rooms, and see no key.
"""
