-- Runs once, after roles.sql, when the database server starts for the first time: the
-- passwords are those in the URLs that the services use.

\set ON_ERROR_STOP on
\set owner `sed 's,.*:\(.*\)@.*,\1,' /run/secrets/database-url`
\set api `sed 's,.*:\(.*\)@.*,\1,' /run/secrets/api-database-url`

ALTER ROLE readback PASSWORD :'owner';
ALTER ROLE readback_api PASSWORD :'api';
CREATE DATABASE readback OWNER readback;
