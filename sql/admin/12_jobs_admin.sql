-- Views and functions about jobs, for administrators.
SET LOCAL ROLE magpie_owner;

DROP VIEW IF EXISTS admin.jobs;
CREATE VIEW admin.jobs WITH (security_invoker = true) AS
  SELECT j.id, CASE WHEN j.state = 'scheduled' AND j.wait_reason = 'retry' THEN 'retrying'
                    WHEN j.state = 'scheduled' AND j.wait_reason = 'snooze' THEN 'snoozed'
                    WHEN j.state = 'running' AND j.cancel_requested THEN 'cancelling'
                    ELSE j.state::text END AS state,
         j.kind, j.subject, j.priority, j.queue, j.attempt, j.max_attempts, j.crashes, j.rerun, j.created_at,
         j.available_at, j.started_at, NULL::timestamptz AS finished_at, j.deadline_at, j.progress_done, j.progress_total,
         j.last_error, j.args, j.checkpoint, j.errors, j.worker_id
  FROM magpie.job j
  UNION ALL
  SELECT d.id, d.state::text, d.kind, d.subject, d.priority, NULL, d.attempt, d.max_attempts, d.crashes, false, d.created_at,
         NULL, d.started_at, d.finished_at, NULL, d.progress_done, d.progress_total,
         d.last_error, d.args, d.checkpoint, d.errors, d.worker_id
  FROM magpie.job_done d;
COMMENT ON VIEW admin.jobs IS 'Every job, unfinished and finished. The former can be changed in magpie.job.';

DROP VIEW IF EXISTS admin.failed_jobs;
CREATE VIEW admin.failed_jobs WITH (security_invoker = true) AS
  SELECT d.id, d.kind, d.subject, d.finished_at, d.attempt, d.crashes, d.last_error, d.errors, d.args, d.created_at
  FROM magpie.job_done d WHERE d.state = 'discarded';
COMMENT ON VIEW admin.failed_jobs IS 'Jobs that were given up. admin.retry_job(id) puts one back.';

DROP VIEW IF EXISTS admin.queue_health;
CREATE VIEW admin.queue_health WITH (security_invoker = true) AS
  SELECT k.kind, p.kind IS NOT NULL AS paused,
    count(j.id) FILTER (WHERE j.state = 'available') AS available,
    count(j.id) FILTER (WHERE j.state = 'scheduled') AS scheduled,
    count(j.id) FILTER (WHERE j.state = 'held') AS held,
    count(j.id) FILTER (WHERE j.state = 'running') AS running,
    count(j.id) FILTER (WHERE j.queue = 'quarantine') AS quarantined,
    count(j.id) FILTER (WHERE j.state = 'scheduled' AND j.available_at < now() - interval '5 s') AS overdue,
    count(j.id) FILTER (WHERE j.state = 'running' AND j.deadline_at < now()) AS past_deadline,
    max(now() - j.available_at) FILTER (WHERE j.state = 'available') AS oldest_wait
  FROM (SELECT DISTINCT j.kind FROM magpie.job j UNION SELECT q.kind FROM magpie.queue_pause q WHERE q.kind <> '*') k
  LEFT JOIN magpie.job j ON j.kind = k.kind
  LEFT JOIN magpie.queue_pause p ON p.kind IN (k.kind, '*')
  GROUP BY k.kind, p.kind;
COMMENT ON VIEW admin.queue_health IS
  'Unfinished jobs by kind. overdue above zero: no worker promotes; a growing oldest_wait: too few workers. Counts every row.';

CREATE OR REPLACE FUNCTION admin.cancel_job(id bigint)
RETURNS text LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_outcome text;
BEGIN
  PERFORM 1 FROM magpie.job j WHERE j.id = cancel_job.id FOR UPDATE;
  SELECT c.outcome INTO v_outcome FROM magpie.cancel_jobs(ARRAY[cancel_job.id]) c;
  RETURN coalesce(v_outcome, (SELECT d.state::text FROM magpie.job_done d WHERE d.id = cancel_job.id
      ORDER BY d.finished_at DESC LIMIT 1), 'unknown');
END $$;
COMMENT ON FUNCTION admin.cancel_job IS
  'Ends a waiting job, tells a running one to stop at its next checkpoint. Answers cancelled, cancelling, the state of a finished job, or unknown.';

-- The insert, which may have to wait for another inserter of the subject, comes before any lock on a job of ours.
CREATE OR REPLACE FUNCTION admin.retry_job(id bigint)
RETURNS text LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  d magpie.job_done;
BEGIN
  SELECT x.* INTO d FROM magpie.job_done x WHERE x.id = retry_job.id ORDER BY x.finished_at DESC LIMIT 1 FOR UPDATE;
  IF FOUND THEN
    INSERT INTO magpie.job (id, created_at, max_attempts, priority, unattended, kind, subject, args, checkpoint, last_error, errors)
    VALUES (d.id, d.created_at, d.max_attempts, d.priority, true, d.kind, d.subject, d.args,
        CASE WHEN d.state <> 'completed' THEN d.checkpoint END, d.last_error, d.errors)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN 'a newer job has its subject'; END IF;
    DELETE FROM magpie.job_done x WHERE x.id = d.id;
    PERFORM pg_notify('magpie_job', 'default');
    RETURN 'available';
  END IF;
  UPDATE magpie.job j SET state = 'available', wait_reason = NULL, available_at = now(), queue = 'default', crashes = 0,
      max_attempts = greatest(j.max_attempts, j.attempt + 1)
    WHERE j.id = retry_job.id AND (j.state = 'scheduled' OR j.queue = 'quarantine' AND j.state <> 'running');
  IF FOUND THEN
    PERFORM pg_notify('magpie_job', 'default');
    RETURN 'available';
  END IF;
  RETURN coalesce((SELECT j.state::text FROM magpie.job j WHERE j.id = retry_job.id), 'unknown');
END $$;
COMMENT ON FUNCTION admin.retry_job IS
  'Runs a finished or a waiting job as soon as a worker is free; takes it out of quarantine. A running one is left alone.';

CREATE OR REPLACE FUNCTION admin.pause_queue(kind text DEFAULT NULL)
RETURNS void LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO magpie.queue_pause (kind) VALUES (coalesce(pause_queue.kind, '*')) ON CONFLICT DO NOTHING
$$;
COMMENT ON FUNCTION admin.pause_queue IS
  'No job of this kind (null: no job at all) is started until resume_queue. Running ones go on. Requests are still taken.';

CREATE OR REPLACE FUNCTION admin.resume_queue(kind text DEFAULT NULL)
RETURNS int LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_count int;
BEGIN
  DELETE FROM magpie.queue_pause p WHERE resume_queue.kind IS NULL OR p.kind = resume_queue.kind;
  -- What is locked at this moment is freed by a worker's next round.
  WITH free AS MATERIALIZED (
    SELECT j.id FROM magpie.job j WHERE j.state = 'held' AND (resume_queue.kind IS NULL OR j.kind = resume_queue.kind)
    FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE magpie.job j SET state = 'available' WHERE j.id = ANY (ARRAY(SELECT f.id FROM free f));
  GET DIAGNOSTICS v_count = ROW_COUNT;
  PERFORM pg_notify('magpie_job', 'default');
  RETURN v_count;
END $$;
COMMENT ON FUNCTION admin.resume_queue IS
  'Ends pause_queue for a kind; null ends every pause, those of single kinds too. Returns the held jobs set free.';

RESET ROLE;
