-- Verbs of the queue that are used by processes and by hand. What every job passes through (claim, checkpoint, completion,
-- heartbeat) is prepared by the server itself, in Sources/Magpie/Jobs: a function would be slower there.
SET LOCAL ROLE magpie_owner;

COMMENT ON TYPE magpie.job_state IS
  'scheduled, available, held and running are states of magpie.job; completed, cancelled and discarded of magpie.job_done.';

-- Moves one job that was taken out of magpie.job to the finished ones. For use in RETURNING of the DELETE.
CREATE OR REPLACE FUNCTION magpie.record_job(j magpie.job, p_state magpie.job_state, p_error text)
RETURNS bigint LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO magpie.job_done (id, state, created_at, started_at, worker_id, run_token, attempt, max_attempts, crashes,
      priority, unattended, kind, subject, args, checkpoint, progress_done, progress_total, last_error, errors)
  VALUES (j.id, p_state, j.created_at, j.started_at, j.worker_id, j.run_token, j.attempt, j.max_attempts, j.crashes,
      j.priority, j.unattended, j.kind, j.subject, coalesce(j.rerun_args, j.args), j.checkpoint, j.progress_done,
      j.progress_total, coalesce(left(p_error, 2000), j.last_error), j.errors)
  RETURNING job_done.id
$$;
COMMENT ON FUNCTION magpie.record_job IS 'Writes a job that is being deleted from the queue into job_done.';

-- The last ten errors of a job, the newest last.
CREATE OR REPLACE FUNCTION magpie.add_error(p_errors jsonb, p_attempt int, p_error text)
RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN jsonb_array_length(p_errors) >= 10 THEN p_errors - 0 ELSE p_errors END
      || jsonb_build_object('at', now(), 'attempt', p_attempt, 'error', left(p_error, 2000))
$$;
COMMENT ON FUNCTION magpie.add_error IS 'Appends to the error list of a job and keeps it at ten.';

-- A request either makes the job or joins the unfinished one of its subject. `run` is the number of the run whose end
-- answers the request: see magpie.job.runs.
CREATE OR REPLACE FUNCTION magpie.request_job(
  p_kind text, p_subject text DEFAULT NULL, p_args jsonb DEFAULT '{}', p_priority int DEFAULT 2,
  p_again boolean DEFAULT true, p_account bigint DEFAULT NULL, p_delay interval DEFAULT '0', p_notify boolean DEFAULT true,
  OUT id bigint, OUT run int, OUT outcome text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_state magpie.job_state;
  v_inserted boolean := false;
  v_rerun boolean := false;
  v_delay interval := greatest(p_delay, '0');
  v_reason text := CASE WHEN p_delay > '0' THEN 'delay' END;
  v_failed record;
  v_error text;
BEGIN
  -- Most requests find the job under way and have nothing to add: no lock then, so that a reader's question never waits
  -- for a worker's transaction.
  IF NOT p_again THEN
    SELECT j.id, j.runs + 1 INTO id, run FROM magpie.job j
    WHERE j.kind = p_kind AND j.subject = p_subject AND j.priority <= p_priority AND NOT j.cancel_requested
      AND (p_account IS NOT NULL OR j.unattended) AND j.wait_reason IS DISTINCT FROM 'delay';
    outcome := 'merged';
  END IF;
  IF id IS NULL THEN
    -- What was given up less than a minute ago is not begun anew at once by whoever reads: each reader would cost the budget
    -- another request. Administrators and the server itself know what they do.
    IF p_account IS NOT NULL THEN
      SELECT d.finished_at + interval '1 minute' - now() AS rest, d.last_error INTO v_failed
      FROM magpie.job_done d
      WHERE d.state = 'discarded' AND d.finished_at > now() - interval '1 minute' AND d.kind = p_kind AND d.subject = p_subject
      ORDER BY d.finished_at DESC LIMIT 1;
      IF FOUND THEN
        v_delay := v_failed.rest; v_reason := 'retry'; v_error := v_failed.last_error;
      END IF;
    END IF;
    INSERT INTO magpie.job AS j (kind, subject, args, priority, available_at, state, wait_reason, last_error, unattended)
    VALUES (p_kind, p_subject, p_args, p_priority, now() + v_delay,
        CASE WHEN v_delay > '0' THEN 'scheduled' ELSE 'available' END::magpie.job_state, v_reason, v_error, p_account IS NULL)
    ON CONFLICT (kind, subject) WHERE subject IS NOT NULL DO UPDATE SET
      priority = least(j.priority, EXCLUDED.priority),
      state = CASE WHEN j.state = 'scheduled' AND EXCLUDED.state = 'available'
                    AND (coalesce(j.wait_reason, 'delay') = 'delay'
                         OR j.wait_reason = 'snooze' AND EXCLUDED.priority < j.priority)
                   THEN 'available' ELSE j.state END,
      available_at = CASE WHEN j.state = 'scheduled' AND (coalesce(j.wait_reason, 'delay') = 'delay'
                         OR j.wait_reason = 'snooze' AND EXCLUDED.priority < j.priority)
                   THEN least(j.available_at, EXCLUDED.available_at) ELSE j.available_at END,
      rerun = j.rerun OR j.state = 'running' AND (p_again OR j.cancel_requested),
      rerun_args = CASE WHEN j.state = 'running' AND (p_again OR j.cancel_requested) THEN EXCLUDED.args
                        ELSE j.rerun_args END,
      args = CASE WHEN j.state = 'running' THEN j.args ELSE EXCLUDED.args END,
      unattended = j.unattended OR EXCLUDED.unattended
    RETURNING j.id, j.state, j.xmax = 0, j.state = 'running' AND (p_again OR j.cancel_requested),
        j.runs + CASE WHEN j.state = 'running' AND (p_again OR j.cancel_requested) THEN 2 ELSE 1 END
    INTO id, v_state, v_inserted, v_rerun, run;
    outcome := CASE WHEN v_inserted THEN 'inserted' WHEN v_rerun THEN 'rerun' ELSE 'merged' END;
    IF p_notify AND v_state = 'available' THEN PERFORM pg_notify('magpie_job', 'default'); END IF;
  END IF;
  IF p_account IS NOT NULL THEN
    INSERT INTO magpie.job_asker (job_id, account_id) VALUES (id, p_account) ON CONFLICT DO NOTHING;
  END IF;
END $$;
COMMENT ON FUNCTION magpie.request_job IS
  'Asks for a job. One unfinished job per (kind, subject): later requests merge, raise its priority and, with p_again, make a running one start over.';

-- The end of a run that did not complete. how: retry, discard, snooze, yield or cancel.
CREATE OR REPLACE FUNCTION magpie.end_run(
  p_id bigint, p_token uuid, p_how text, p_error text DEFAULT NULL, p_delay interval DEFAULT NULL)
RETURNS text LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  j magpie.job;
  v_final magpie.job_state;
BEGIN
  SELECT x.* INTO j FROM magpie.job x WHERE x.id = p_id AND x.run_token = p_token FOR UPDATE;
  IF NOT FOUND THEN
    RETURN coalesce((SELECT d.state::text FROM magpie.job_done d WHERE d.id = p_id AND d.run_token = p_token), 'lost');
  END IF;
  IF p_error IS NOT NULL THEN
    j.last_error := left(p_error, 2000);
    j.errors := magpie.add_error(j.errors, j.attempt, p_error);
  END IF;
  v_final := CASE WHEN j.cancel_requested OR p_how = 'cancel' THEN 'cancelled'
                  WHEN p_how = 'discard' OR p_how = 'retry' AND j.attempt >= j.max_attempts THEN 'discarded' END;
  IF v_final IS NOT NULL AND NOT j.rerun THEN
    DELETE FROM magpie.job x WHERE x.id = p_id;
    PERFORM magpie.record_job(j, v_final, j.last_error);
    RETURN v_final;
  END IF;
  UPDATE magpie.job x SET run_token = NULL, worker_id = NULL, deadline_at = NULL,
      last_error = j.last_error, errors = j.errors,
      state = CASE WHEN v_final IS NOT NULL OR p_how = 'yield' THEN 'available' ELSE 'scheduled' END::magpie.job_state,
      wait_reason = CASE WHEN v_final IS NOT NULL OR p_how = 'yield' THEN NULL ELSE p_how END,
      -- 2, 4, 8 … seconds, an hour at most, each half to one and a half times as long
      available_at = now() + CASE WHEN v_final IS NOT NULL OR p_how = 'yield' THEN interval '0'
          -- least() passes over NULL, which would make a day of every delay that is not named
          WHEN p_delay > interval '1 day' THEN interval '1 day'
          ELSE coalesce(p_delay, make_interval(secs => least(3600, power(2, least(j.attempt, 12))) * (0.5 + random()))) END,
      attempt = CASE WHEN v_final IS NOT NULL THEN 0
                     WHEN p_how IN ('snooze', 'yield') THEN greatest(j.attempt - 1, 0) ELSE j.attempt END,
      snoozes = j.snoozes + (p_how = 'snooze')::int,
      -- A request that came during the run is not answered by its failure: start over for it.
      rerun = j.rerun AND v_final IS NULL,
      runs = j.runs + (v_final IS NOT NULL)::int,
      crashes = CASE WHEN v_final IS NOT NULL THEN 0 ELSE j.crashes END,
      cancel_requested = j.cancel_requested AND v_final IS NULL,
      args = CASE WHEN v_final IS NOT NULL THEN coalesce(j.rerun_args, j.args) ELSE j.args END,
      rerun_args = CASE WHEN v_final IS NULL THEN j.rerun_args END,
      checkpoint = CASE WHEN v_final IS NULL THEN j.checkpoint END,
      progress_done = CASE WHEN v_final IS NULL THEN j.progress_done END,
      progress_total = CASE WHEN v_final IS NULL THEN j.progress_total END,
      progress_most = CASE WHEN v_final IS NULL THEN j.progress_most ELSE 0 END
    WHERE x.id = p_id;
  RETURN CASE WHEN v_final IS NOT NULL THEN 'rerun' ELSE p_how END;
END $$;
COMMENT ON FUNCTION magpie.end_run IS
  'Ends a run that did not complete; a snooze and a yield give the attempt back. Answers lost when the token no longer holds the job.';

-- Takes back what dead workers hold, and the runs named in p_overdue that are past their deadline. A job whose workers
-- die goes to quarantine, where it runs alone, then is discarded.
CREATE OR REPLACE FUNCTION magpie.rescue_jobs(p_overdue uuid[] DEFAULT '{}', p_limit int DEFAULT 500)
RETURNS TABLE (id bigint, outcome text) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  j magpie.job;
  v_why text;
  v_crashes int;
BEGIN
  FOR j IN
    SELECT x.* FROM magpie.job x
    WHERE x.state = 'running'
      AND (NOT EXISTS (SELECT FROM magpie.worker w WHERE w.id = x.worker_id AND w.state <> 'dead')
           OR x.run_token = ANY (p_overdue) AND x.deadline_at < now())
    ORDER BY x.id LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
  LOOP
    v_why := CASE WHEN j.run_token = ANY (p_overdue) THEN 'timed out' ELSE 'worker died' END;
    v_crashes := j.crashes + (v_why = 'worker died')::int;
    j.errors := magpie.add_error(j.errors, j.attempt, v_why);
    id := j.id;
    IF j.cancel_requested AND NOT j.rerun OR j.attempt >= j.max_attempts OR v_crashes >= 3 THEN
      outcome := CASE WHEN j.cancel_requested THEN 'cancelled' ELSE 'discarded' END;
      j.crashes := v_crashes;
      DELETE FROM magpie.job x WHERE x.id = j.id;
      PERFORM magpie.record_job(j, outcome::magpie.job_state, v_why);
    ELSE
      outcome := 'rescheduled';
      UPDATE magpie.job x SET state = 'scheduled', wait_reason = 'rescue', crashes = v_crashes,
          available_at = now() + make_interval(secs => (j.crashes + 1) * (1 + 2 * random())),
          queue = CASE WHEN v_crashes >= 2 THEN 'quarantine' ELSE j.queue END,
          -- Cancelled and then asked for again: the next run answers the new request.
          cancel_requested = false, rerun = j.rerun AND NOT j.cancel_requested,
          args = CASE WHEN j.cancel_requested THEN coalesce(j.rerun_args, j.args) ELSE j.args END,
          rerun_args = CASE WHEN NOT j.cancel_requested THEN j.rerun_args END,
          checkpoint = CASE WHEN NOT j.cancel_requested THEN j.checkpoint END,
          progress_most = CASE WHEN NOT j.cancel_requested THEN j.progress_most ELSE 0 END,
          run_token = NULL, worker_id = NULL, deadline_at = NULL, last_error = v_why, errors = j.errors
        WHERE x.id = j.id;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
COMMENT ON FUNCTION magpie.rescue_jobs IS
  'Reschedules running jobs of dead workers (second crash: quarantine, third: discarded) and overdue runs. Bounded; run it until it is empty.';

-- Waiting jobs end at once, running ones at their next checkpoint. Rows that are locked now are left out: call again.
CREATE OR REPLACE FUNCTION magpie.cancel_jobs(p_ids bigint[])
RETURNS TABLE (id bigint, outcome text) LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  WITH mine AS MATERIALIZED (
    SELECT j.id, j.state FROM magpie.job j WHERE j.id = ANY (p_ids) ORDER BY j.id FOR UPDATE SKIP LOCKED),
  flagged AS (
    UPDATE magpie.job j SET cancel_requested = true, rerun = false, rerun_args = NULL
    WHERE j.id = ANY (ARRAY(SELECT m.id FROM mine m WHERE m.state = 'running')) RETURNING j.id),
  gone AS (
    DELETE FROM magpie.job j WHERE j.id = ANY (ARRAY(SELECT m.id FROM mine m WHERE m.state <> 'running'))
    RETURNING magpie.record_job(j, 'cancelled', NULL) AS id)
  SELECT f.id, 'cancelling' FROM flagged f
  UNION ALL SELECT g.id, 'cancelled' FROM gone g
$$;
COMMENT ON FUNCTION magpie.cancel_jobs IS 'Cancels jobs that wait and tells running ones to stop. Finished and locked ones are not in the answer.';

-- An account no longer wants a job. It ends when nobody is left who does.
CREATE OR REPLACE FUNCTION magpie.withdraw_from_job(p_id bigint, p_account bigint)
RETURNS text LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_unattended boolean;
  v_outcome text;
BEGIN
  -- The lock keeps a new asker out until we have counted the others.
  SELECT j.unattended INTO v_unattended FROM magpie.job j WHERE j.id = p_id FOR UPDATE;
  IF NOT FOUND THEN v_unattended := true; END IF;
  DELETE FROM magpie.job_asker a WHERE a.job_id = p_id AND a.account_id = p_account;
  IF NOT FOUND THEN RETURN 'unknown'; END IF;
  IF v_unattended OR EXISTS (SELECT FROM magpie.job_asker a WHERE a.job_id = p_id) THEN RETURN 'withdrawn'; END IF;
  SELECT c.outcome INTO v_outcome FROM magpie.cancel_jobs(ARRAY[p_id]) c;
  RETURN coalesce(v_outcome, 'withdrawn');
END $$;
COMMENT ON FUNCTION magpie.withdraw_from_job IS
  'Removes an account from a job''s askers and cancels the job when it was the last. unknown: the account had not asked.';

GRANT EXECUTE ON FUNCTION magpie.record_job, magpie.add_error, magpie.request_job, magpie.cancel_jobs
  TO magpie_app, magpie_worker, magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.end_run, magpie.rescue_jobs TO magpie_worker, magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.withdraw_from_job TO magpie_app;

RESET ROLE;
