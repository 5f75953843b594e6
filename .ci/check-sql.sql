-- What the SQL side promises (docs/architecture.md, sql/README.md), read from the catalog of a freshly migrated database.
-- Run by a superuser. Every finding is a row of `finding`; any row fails the check.
create temporary table finding (rule text, object text);

-- What an extension brought along is not ours to explain.
create temporary view ours as
select n.oid as schema_oid, n.nspname, d.classid, d.objid
from pg_namespace n
  join (
    select 'pg_class'::regclass as classid, oid as objid, relnamespace as nsp from pg_class
    union all select 'pg_proc'::regclass, oid, pronamespace from pg_proc
    union all select 'pg_type'::regclass, oid, typnamespace from pg_type
  ) d on d.nsp = n.oid
where n.nspname in ('magpie', 'admin')
  and not exists (select from pg_depend e where e.classid = d.classid and e.objid = d.objid and e.deptype = 'e');

-- Everything explains itself: \dt+ magpie.*, \dv+ admin.*, \df+ admin.*
insert into finding
select 'has no comment', format('%s %s', case c.relkind when 'v' then 'view' else 'table' end, c.oid::regclass)
from ours o join pg_class c on o.classid = 'pg_class'::regclass and c.oid = o.objid
where c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition and obj_description(c.oid, 'pg_class') is null
union all
select 'has no comment', format('function %s', p.oid::regprocedure)
from ours o join pg_proc p on o.classid = 'pg_proc'::regclass and p.oid = o.objid
where obj_description(p.oid, 'pg_proc') is null
union all
select 'has no comment', format('type %s', t.oid::regtype)
from ours o join pg_type t on o.classid = 'pg_type'::regclass and t.oid = o.objid
where t.typtype in ('e', 'd') and obj_description(t.oid, 'pg_type') is null
union all
select 'has no comment', format('schema %s', n.nspname)
from pg_namespace n
where n.nspname in ('magpie', 'admin') and obj_description(n.oid, 'pg_namespace') is null;

-- The four roles are there and can do no more than they must.
insert into finding
select 'is missing', format('role %s', wanted)
from unnest(array['magpie_owner', 'magpie_app', 'magpie_worker', 'magpie_admin']) wanted
where not exists (select from pg_roles where rolname = wanted);

insert into finding
select 'has a power it must not have', format('role %s: %s', r.rolname, power)
from pg_roles r,
  lateral (values ('superuser', r.rolsuper), ('bypassrls', r.rolbypassrls), ('createdb', r.rolcreatedb),
    ('createrole', r.rolcreaterole), ('replication', r.rolreplication)) powers (power, has)
where r.rolname in ('magpie_app', 'magpie_worker', 'magpie_admin') and has;

-- Nobody but the owner changes the schema.
insert into finding
select 'may create objects', format('role %s in schema %s', r.rolname, n.nspname)
from pg_roles r, pg_namespace n
where r.rolname in ('magpie_app', 'magpie_worker', 'magpie_admin') and n.nspname in ('magpie', 'admin', 'public')
  and has_schema_privilege(r.oid, n.oid, 'create');

insert into finding
select 'owns something', format('role %s: %s', pg_get_userbyid(c.relowner), c.oid::regclass)
from pg_class c
where pg_get_userbyid(c.relowner) in ('magpie_app', 'magpie_worker', 'magpie_admin');

-- Account tables: row-level security where the server reads, and nothing at all for the worker. Who asked for a job is no
-- account data: the server names both columns in every statement, and the worker clears old rows without seeing accounts.
create temporary view account_table as
select c.oid, c.relrowsecurity and c.relforcerowsecurity as secured
from pg_class c
where c.relnamespace = 'magpie'::regnamespace and c.relkind in ('r', 'p')
  and c.relname <> 'job_asker'
  and (c.relname = 'account'
    or exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped));

insert into finding
select 'has no row-level security', format('table %s', oid::regclass)
from account_table
where not secured and has_any_column_privilege('magpie_app', oid, 'select, insert, update');

insert into finding
select 'is open to the worker', format('%s on table %s', privilege, a.oid::regclass)
from account_table a, unnest(array['select', 'insert', 'update', 'references']) privilege
where has_any_column_privilege('magpie_worker', a.oid, privilege)
union all
select 'is open to the worker', format('%s on table %s', privilege, a.oid::regclass)
from account_table a, unnest(array['delete', 'truncate', 'trigger']) privilege
where has_table_privilege('magpie_worker', a.oid, privilege);

-- Every role that logs in has PUBLIC's privileges, so PUBLIC has none here.
insert into finding
select 'is open to everybody', format('relation %s', c.oid::regclass)
from pg_class c, aclexplode(c.relacl) a
where c.relnamespace in ('magpie'::regnamespace, 'admin'::regnamespace) and a.grantee = 0
union all
select 'is open to everybody', format('function %s', p.oid::regprocedure)
from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
where p.pronamespace = 'admin'::regnamespace and a.grantee = 0;

-- A function that runs with its owner's rights must not be led astray by the caller's search path.
insert into finding
select 'runs as its owner without a fixed search_path', format('function %s', p.oid::regprocedure)
from ours o join pg_proc p on o.classid = 'pg_proc'::regclass and p.oid = o.objid
where p.prosecdef
  and not exists (select from unnest(p.proconfig) setting where setting like 'search_path=%');

-- Administrators can use all of admin.
insert into finding
select 'cannot be executed by magpie_admin', format('function %s', p.oid::regprocedure)
from pg_proc p
where p.pronamespace = 'admin'::regnamespace and not has_function_privilege('magpie_admin', p.oid, 'execute')
  and p.prorettype <> 'trigger'::regtype
union all
select 'cannot be read by magpie_admin', format('view %s', c.oid::regclass)
from pg_class c
where c.relnamespace = 'admin'::regnamespace and c.relkind in ('v', 'm')
  and not has_table_privilege('magpie_admin', c.oid, 'select')
union all
select 'cannot be used by magpie_admin', 'schema admin'
where not has_schema_privilege('magpie_admin', 'admin', 'usage');

-- What administrators are promised.
insert into finding
select 'is promised and not there', format('function admin.%s', name)
from unnest(array['create_account', 'reset_password', 'issue_token', 'revoke_tokens', 'disable_account',
  'enable_account', 'delete_account', 'refresh', 'retry_job', 'cancel_job', 'pause_queue', 'resume_queue',
  'set_budget_floor', 'forget_subject', 'explain']) name
where not exists (select from pg_proc where pronamespace = 'admin'::regnamespace and proname = name)
union all
select 'is promised and not there', format('view admin.%s', name)
from unnest(array['accounts', 'devices', 'favorites', 'jobs', 'failed_jobs', 'queue_health', 'budgets',
  'freshness', 'follower_changes', 'audit']) name
where not exists (select from pg_class where relnamespace = 'admin'::regnamespace and relname = name);

select count(*) > 0 as failed from finding \gset
\if :failed
  table finding order by rule, object;
  \warn the SQL contract is broken, see the table above
  select 1 / 0 as broken;
\endif

-- Each view works, not only exists: read as an administrator.
\pset tuples_only on
\pset format unaligned
set role magpie_admin;
select format('select * from %s limit 0', c.oid::regclass)
from pg_class c where c.relnamespace = 'admin'::regnamespace and c.relkind in ('v', 'm') \gexec
reset role;
