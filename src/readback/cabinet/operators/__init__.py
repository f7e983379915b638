"""What operators see and do: overview, accounts, keys, invitations, and metrics.

They change data only through the services of the other folders, and see no key.
"""
