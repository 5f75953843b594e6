-- Roles and schemas.
--
-- Four roles, none of which can log in; people and processes log in as something that is a member of them:
--   magpie_owner   owns every object, runs the migrations
--   magpie_app     the API server: no DDL, row-level security on account tables
--   magpie_worker  the workers: queue, budgets and mirror, no account tables
--   magpie_admin   people: the views and functions of schema admin, every account's rows
--
-- Every later file of sql/migrations and sql/admin keeps to this:
--   1. It starts with `SET LOCAL ROLE magpie_owner;` and ends with `RESET ROLE;`, so that all objects have one owner.
--      What that role may not do (CREATE EXTENSION) comes before the first of the two lines.
--   2. Nothing in schema magpie is granted by default: each table and function names who may use it and how, right below
--      its definition. Execution by PUBLIC is already revoked for all functions, old habits of PostgreSQL notwithstanding.
--   3. Everything in schema admin is for magpie_admin, by default privileges: views can be read, functions be executed.
--      Views are made WITH (security_invoker = true); functions are SECURITY INVOKER unless a comment says why not.
--   4. Functions carry `SET search_path = pg_catalog, pg_temp` and name every other schema.
--   5. Time limits belong to connections (options=-c …), since SET ROLE does not apply a role's settings.

DO $roles$
DECLARE
  wanted name;
  -- Since PostgreSQL 16 a role's creator administers it without being able to become it.
  may_become text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
  attempts int;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['magpie_owner', 'magpie_app', 'magpie_worker', 'magpie_admin'] LOOP
    attempts := 0;
    WHILE NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = wanted)
       OR NOT pg_has_role(current_user, wanted, may_become)
       OR NOT pg_has_role(current_user, wanted, 'USAGE')
    LOOP
      attempts := attempts + 1;
      BEGIN
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = wanted) THEN
          EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        END IF;
        EXECUTE format('GRANT %I TO CURRENT_USER', wanted);
        EXIT;
      EXCEPTION
        WHEN insufficient_privilege THEN
          RAISE EXCEPTION 'the role % is missing or % may not use it', wanted, current_user
            USING HINT = 'Let a database administrator run sql/roles.sql once, or give the login CREATEROLE.';
        -- Roles belong to the whole cluster, so another database's migration may be doing the same at this moment.
        WHEN duplicate_object OR unique_violation OR internal_error THEN
          IF attempts >= 50 THEN RAISE; END IF;
          PERFORM pg_sleep(0.02 + 0.08 * random());
      END;
    END LOOP;
  END LOOP;
END
$roles$;

CREATE SCHEMA IF NOT EXISTS magpie;
CREATE SCHEMA IF NOT EXISTS admin;
ALTER SCHEMA magpie OWNER TO magpie_owner;
ALTER SCHEMA admin OWNER TO magpie_owner;

-- The list of applied steps is there before the first step.
DO $migration$
BEGIN
  IF to_regclass('magpie.migration') IS NOT NULL THEN
    ALTER TABLE magpie.migration OWNER TO magpie_owner;
  END IF;
END
$migration$;

SET LOCAL ROLE magpie_owner;

COMMENT ON SCHEMA magpie IS 'Tables of the server. Writes by hand are welcome where a comment says so.';
COMMENT ON SCHEMA admin IS 'For administrators: \dv+ admin.* and \df+ admin.* list what there is.';

REVOKE ALL ON SCHEMA magpie, admin FROM PUBLIC;
GRANT USAGE ON SCHEMA magpie TO magpie_app, magpie_worker, magpie_admin;
GRANT USAGE ON SCHEMA admin TO magpie_admin;

ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA admin GRANT SELECT ON TABLES TO magpie_admin;
ALTER DEFAULT PRIVILEGES IN SCHEMA admin GRANT EXECUTE ON FUNCTIONS TO magpie_admin;

RESET ROLE;
