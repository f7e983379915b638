"""What operators see and do: overview, accounts, keys, invitations, and metrics.

They change nothing but through the services of the other folders, and see no key.
"""
