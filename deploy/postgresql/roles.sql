-- Creates the two roles of Readback, unless they exist. Run it once, as a superuser:
--
--   psql --file=roles.sql
--
-- Then set a password for each with psql's \password, and create the database:
--
--   createdb --owner=readback readback
--
-- readback      owns the database; for `readback migrate`, the cabinet and the commands.
-- readback_api  for `readback serve api`; grants.sql says what it may do.

\set ON_ERROR_STOP on

SELECT 'CREATE ROLE readback LOGIN'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'readback') \gexec

SELECT 'CREATE ROLE readback_api LOGIN'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'readback_api') \gexec
