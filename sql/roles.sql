-- Run once by a database administrator where the server's login may not create roles:
--
--   psql -v login=magpie -d magpie -f sql/roles.sql
--
-- `login` is the role named in DATABASE_URL (and in MAGPIE_MIGRATE_URL, if that is another one: run it again for it).
-- Running it twice does no harm. People get access with `GRANT magpie_admin TO alice;`.

\set ON_ERROR_STOP on

SELECT format('CREATE ROLE %I NOLOGIN', wanted)
FROM unnest(ARRAY['magpie_owner', 'magpie_app', 'magpie_worker', 'magpie_admin']) AS wanted
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = wanted)
\gexec

GRANT magpie_owner, magpie_app, magpie_worker, magpie_admin TO :"login";

-- The migrations make the schemas magpie and admin, and trusted extensions.
SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), :'login')
\gexec
