-- The processes that run jobs, their leases, and the switches that stop them.
SET LOCAL ROLE magpie_owner;

-- The lease is the process's, not the job's: one beat keeps all its runs. A new start is a new row, never an old name.
CREATE TABLE magpie.worker (
  id           uuid PRIMARY KEY,
  started_at   timestamptz NOT NULL DEFAULT now(),
  heartbeat_at timestamptz NOT NULL DEFAULT now(),
  lease        interval NOT NULL CHECK (lease > interval '0'),
  state        text NOT NULL DEFAULT 'up' CHECK (state IN ('up', 'draining', 'dead')),
  hostname     text NOT NULL DEFAULT '',
  pid          int NOT NULL DEFAULT 0,
  version      text NOT NULL DEFAULT ''
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

COMMENT ON TABLE magpie.worker IS
  'Worker processes. One is dead when heartbeat_at has not changed for a lease, measured on another process''s monotonic clock; '
  'setting state to dead by hand takes its jobs away at once.';

-- Says who does the housekeeping. Two at once would do no harm: every duty may run twice.
CREATE TABLE magpie.leader (
  name       text PRIMARY KEY,
  holder     uuid NOT NULL,
  term       bigint NOT NULL,
  elected_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

COMMENT ON TABLE magpie.leader IS 'Leases of housekeeping duties; an optimization, nothing relies on there being one holder only.';

CREATE TABLE magpie.queue_pause (
  kind      text PRIMARY KEY,
  paused_at timestamptz NOT NULL DEFAULT now(),
  paused_by text NOT NULL DEFAULT session_user);

COMMENT ON TABLE magpie.queue_pause IS 'Kinds of jobs that no worker may start; * stops all. See admin.pause_queue.';

GRANT SELECT, INSERT, UPDATE, DELETE ON magpie.worker, magpie.leader TO magpie_worker;
GRANT SELECT ON magpie.worker, magpie.leader, magpie.queue_pause TO magpie_app, magpie_admin;
GRANT SELECT ON magpie.queue_pause TO magpie_worker;
GRANT UPDATE (state) ON magpie.worker TO magpie_admin;
GRANT INSERT, UPDATE, DELETE ON magpie.queue_pause TO magpie_admin;

RESET ROLE;
