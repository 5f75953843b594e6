-- A page of a walk in one statement: who is new is added without looking for conflicts row by row, and the fence of the run is
-- a function, so that what a step writes and its checkpoint can be one statement.
SET LOCAL ROLE magpie_owner;

CREATE OR REPLACE FUNCTION magpie.store_summaries(
  p_ids bigint[], p_logins text[], p_bear boolean[], p_names text[], p_types text[], p_avatars text[], p_documents text[],
  p_seen_at timestamptz)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_former bigint[];
  v_known bigint[];
BEGIN
  -- A login that somebody else bears now is given up by whoever had it. OFFSET 0 has each login looked up: a plan that was made
  -- while the table was small would go on reading all of it.
  v_former := ARRAY(SELECT f.id FROM unnest(p_ids, p_logins) AS n(id, login)
    CROSS JOIN LATERAL (SELECT u.id FROM magpie.github_user u WHERE u.login_key = lower(n.login) AND u.id <> n.id OFFSET 0) AS f);
  IF cardinality(v_former) > 0 THEN
    UPDATE magpie.github_user u SET login_key = NULL WHERE u.id = ANY (v_former);
  END IF;
  v_known := ARRAY(SELECT k.id FROM unnest(p_ids) AS n(id)
    CROSS JOIN LATERAL (SELECT u.id FROM magpie.github_user u WHERE u.id = n.id OFFSET 0) AS k);
  IF cardinality(v_known) < cardinality(p_ids) THEN
    BEGIN
      -- Adding a row that may be there takes a quarter longer than adding one that is not.
      INSERT INTO magpie.github_user AS u (id, login, login_key, name, type, avatar_url, search, summary, summary_at)
      SELECT n.id, n.login, CASE WHEN n.bears THEN lower(n.login) END, nullif(n.name, ''), n.type, n.avatar,
             -- ASCII has no accents, and most people have nothing else.
             CASE WHEN octet_length(n.login || n.name) = char_length(n.login || n.name) THEN lower(concat_ws(' ', n.login, nullif(n.name, '')))
                  ELSE magpie.fold(concat_ws(' ', n.login, nullif(n.name, ''))) END,
             n.document, p_seen_at
        FROM unnest(p_ids, p_logins, p_bear, p_names, p_types, p_avatars, p_documents)
             AS n(id, login, bears, name, type, avatar, document)
       WHERE n.id <> ALL (v_known);
    EXCEPTION WHEN unique_violation THEN
      -- Another walk has met one of them at the same moment.
      v_known := p_ids;
    END;
  END IF;
  IF cardinality(v_known) = 0 THEN RETURN; END IF;
  INSERT INTO magpie.github_user AS u (id, login, login_key, name, type, avatar_url, search, summary, summary_at)
  SELECT n.id, n.login, CASE WHEN n.bears THEN lower(n.login) END, nullif(n.name, ''), n.type, n.avatar,
         CASE WHEN octet_length(n.login || n.name) = char_length(n.login || n.name) THEN lower(concat_ws(' ', n.login, nullif(n.name, '')))
              ELSE magpie.fold(concat_ws(' ', n.login, nullif(n.name, ''))) END,
         n.document, p_seen_at
    FROM unnest(p_ids, p_logins, p_bear, p_names, p_types, p_avatars, p_documents)
         AS n(id, login, bears, name, type, avatar, document)
   WHERE n.id = ANY (v_known)
  ON CONFLICT (id) DO UPDATE SET
    login = EXCLUDED.login, login_key = EXCLUDED.login_key, name = coalesce(EXCLUDED.name, u.name), type = EXCLUDED.type,
    avatar_url = EXCLUDED.avatar_url, search = magpie.fold(concat_ws(' ', EXCLUDED.login, coalesce(EXCLUDED.name, u.name))),
    summary = EXCLUDED.summary, summary_at = EXCLUDED.summary_at,
    state = CASE WHEN u.state = 'gone' THEN 'ok' ELSE u.state END
   WHERE (u.summary_at IS NULL OR u.summary_at <= EXCLUDED.summary_at)
     AND (u.summary IS DISTINCT FROM EXCLUDED.summary OR u.login_key IS DISTINCT FROM EXCLUDED.login_key OR u.state = 'gone');
END $$;

ALTER TABLE magpie.job ADD COLUMN progress_most bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN magpie.job.progress_most IS
  'The most that progress_done has ever been. Who begins anew again and again gets no further than before, and runs out of attempts.';

CREATE FUNCTION magpie.checkpoint_run(
  p_id bigint, p_token uuid, p_checkpoint jsonb, p_done bigint, p_total bigint, p_seconds double precision,
  OUT priority int, OUT waiting int)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_cancelled boolean;
  v_queue text;
BEGIN
  UPDATE magpie.job j SET checkpoint = p_checkpoint, progress_done = p_done, progress_total = p_total,
      attempt = CASE WHEN p_done > j.progress_most THEN 1 ELSE j.attempt END,
      crashes = CASE WHEN p_done > j.progress_most THEN 0 ELSE j.crashes END,
      progress_most = greatest(j.progress_most, p_done),
      deadline_at = now() + make_interval(secs => p_seconds)
   WHERE j.id = p_id AND j.run_token = p_token
  RETURNING j.cancel_requested, j.priority, j.queue INTO v_cancelled, priority, v_queue;
  IF NOT FOUND THEN RAISE EXCEPTION 'the run of job % is over', p_id USING ERRCODE = 'MG410'; END IF;
  IF v_cancelled THEN RAISE EXCEPTION 'job % is cancelled', p_id USING ERRCODE = 'MG499'; END IF;
  SELECT w.priority INTO waiting FROM magpie.job w
   WHERE w.state = 'available' AND w.queue = v_queue AND w.priority <= checkpoint_run.priority
     AND w.available_at < now() - interval '1 s'
     AND NOT EXISTS (SELECT FROM magpie.queue_pause p WHERE p.kind IN (w.kind, '*'))
   ORDER BY w.priority, w.id LIMIT 1;
END $$;
COMMENT ON FUNCTION magpie.checkpoint_run(bigint, uuid, jsonb, bigint, bigint, double precision) IS
  'The fence of a run: notes how far it has come, or fails when it is over (MG410) or cancelled (MG499). Who gets further than before has all attempts again. waiting: the priority of a job, as urgent or more, that has found no slot for a second.';
GRANT EXECUTE ON FUNCTION magpie.checkpoint_run(bigint, uuid, jsonb, bigint, bigint, double precision) TO magpie_worker;

RESET ROLE;
