"""Accounts: sign up, confirm an address, log in, change and delete an account.

Most pages are allauth's, with our forms, limits and e-mails.
"""
