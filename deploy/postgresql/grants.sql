-- Gives the role readback_api what the API needs, and takes everything else away. Run it
-- as the owner of the tables, after each `readback migrate` and before you start the new
-- version of the API:
--
--   psql --file=grants.sql "$READBACK_DATABASE_URL"
--
-- It can be run any number of times, while the API is running, too.
--
-- Not with ALTER DEFAULT PRIVILEGES: the tables of later versions may hold personal data,
-- which the API must not be able to read unless this file says so.

\set ON_ERROR_STOP on

BEGIN;

REVOKE ALL ON ALL TABLES IN SCHEMA public FROM readback_api;
-- Until PostgreSQL 14 every role could create tables; only a superuser can change that.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO readback_api;

-- Whether the database has been migrated to this version.
GRANT SELECT ON django_migrations TO readback_api;

-- Whether a key is accepted. No address, no name of a key, no password.
GRANT SELECT (id, is_active) ON cabinet_user TO readback_api;
GRANT SELECT (user_id, verified, "primary") ON account_emailaddress TO readback_api;
GRANT SELECT (id, owner_id, digest, expires_at, revoked_at, last_used_at, last_created,
    explains_refusals, rehearsal) ON cabinet_key TO readback_api;

-- The last use of a key and its last `created`. UPDATE on a column also allows the role
-- to lock the row.
GRANT UPDATE (last_used_at, last_created) ON cabinet_key TO readback_api;

-- Usage and journal: add, count, trim. The ids are identity columns, so no sequence is
-- needed.
GRANT SELECT, INSERT, UPDATE (requests), DELETE ON cabinet_usage TO readback_api;
GRANT SELECT (id, key_id, accepted, at), INSERT, DELETE
    ON cabinet_journalentry TO readback_api;
GRANT SELECT, INSERT, UPDATE (batch, at), DELETE ON cabinet_usagewriter TO readback_api;

-- Unmatched requests: add, delete the old ones, which are locked first. Addresses are
-- hashed with the key.
GRANT SELECT (id, at), INSERT, UPDATE (requests), DELETE
    ON cabinet_unmatchedrequest TO readback_api;
GRANT SELECT (key) ON cabinet_networkkey TO readback_api;

COMMIT;
