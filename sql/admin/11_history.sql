-- Retention of finished jobs: a partition a day, dropped whole.
SET LOCAL ROLE magpie_owner;

-- SECURITY DEFINER because making and dropping tables is the owner's business and workers run without DDL. It takes no names
-- and no SQL from the caller.
CREATE OR REPLACE FUNCTION magpie.maintain_history(p_keep interval DEFAULT '14 days')
RETURNS TABLE (made int, dropped int) LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
  v_today date := (now() AT TIME ZONE 'UTC')::date;
  v_day date;
  v_name text;
BEGIN
  made := 0;
  dropped := 0;
  -- Two processes at once: the second has nothing to do.
  IF NOT pg_try_advisory_xact_lock(hashtext('magpie.maintain_history')) THEN RETURN NEXT; RETURN; END IF;

  FOR v_day IN SELECT v_today + n FROM generate_series(0, 2) AS n LOOP
    v_name := 'job_done_' || to_char(v_day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass('magpie.' || v_name) IS NOT NULL;
    -- A job that ends right now would be sent to the default partition and be refused there after the new one is attached.
    LOCK TABLE magpie.job_done IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE magpie.%I (LIKE magpie.job_done INCLUDING ALL)', v_name);
    -- Rows of a day nobody had prepared are in the default partition and would forbid the new one.
    EXECUTE format('WITH moved AS (DELETE FROM magpie.job_done_default d WHERE d.finished_at >= %1$L AND d.finished_at < %2$L
        RETURNING d.*) INSERT INTO magpie.%3$I SELECT * FROM moved',
        v_day::timestamp AT TIME ZONE 'UTC', (v_day + 1)::timestamp AT TIME ZONE 'UTC', v_name);
    EXECUTE format('ALTER TABLE magpie.job_done ATTACH PARTITION magpie.%I FOR VALUES FROM (%L) TO (%L)', v_name,
        v_day::timestamp AT TIME ZONE 'UTC', (v_day + 1)::timestamp AT TIME ZONE 'UTC');
    made := made + 1;
  END LOOP;

  FOR v_name IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'magpie.job_done'::regclass AND c.relname ~ '^job_done_[0-9]{8}$'
      AND to_date(substr(c.relname, 10), 'YYYYMMDD') + 1 <= ((now() - p_keep) AT TIME ZONE 'UTC')::date
    ORDER BY c.relname
  LOOP
    EXECUTE format('DROP TABLE magpie.%I', v_name);
    dropped := dropped + 1;
  END LOOP;

  DELETE FROM magpie.job_done_default d WHERE d.finished_at < now() - p_keep;
  DELETE FROM magpie.job_asker a WHERE a.asked_at < now() - p_keep
    AND NOT EXISTS (SELECT FROM magpie.job j WHERE j.id = a.job_id);
  DELETE FROM magpie.worker w WHERE w.state = 'dead' AND w.heartbeat_at < now() - interval '1 day'
    AND NOT EXISTS (SELECT FROM magpie.job j WHERE j.worker_id = w.id AND j.state = 'running');
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION magpie.maintain_history IS
  'Makes the partitions of job_done for today and the next two days and drops those wholly older than p_keep.';
GRANT EXECUTE ON FUNCTION magpie.maintain_history TO magpie_worker, magpie_admin;

-- Before the first job ends: moving rows into a new partition hides them from readers for a moment.
SELECT magpie.maintain_history();

RESET ROLE;
