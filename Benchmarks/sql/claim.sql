-- What a worker claims with (Sources/Magpie/Jobs/ClaimedJob.swift). $1 how many. The two arrays are for the statement after it.
WITH next AS MATERIALIZED (
  SELECT j.id, EXISTS (SELECT FROM magpie.queue_pause p WHERE p.kind = j.kind) AS paused
  FROM magpie.job j
  WHERE j.state = 'available' AND j.queue = 'default' AND j.priority BETWEEN 0 AND 9 AND (j.priority, j.id) > (-1, 0)
    AND NOT EXISTS (SELECT FROM magpie.queue_pause p WHERE p.kind = '*')
  ORDER BY j.priority, j.id LIMIT $1
  FOR NO KEY UPDATE OF j SKIP LOCKED),
held AS (
  UPDATE magpie.job j SET state = 'held' WHERE j.id = ANY (ARRAY(SELECT n.id FROM next n WHERE n.paused)) RETURNING j.id),
claimed AS (
  UPDATE magpie.job j SET state = 'running', attempt = j.attempt + 1,
    worker_id = '00000000-0000-0000-0000-000000000001', run_token = gen_random_uuid(), started_at = now(), wait_reason = NULL,
    deadline_at = now() + coalesce(j.time_limit, make_interval(secs => 300))
  WHERE j.id = ANY (ARRAY(SELECT n.id FROM next n WHERE NOT n.paused))
  RETURNING j.id, j.run_token, j.kind, j.subject, j.priority, j.attempt, j.args::text, j.checkpoint::text,
    extract(epoch FROM j.time_limit)::float8)
SELECT array_agg(c.id)::text AS ids, array_agg(c.run_token)::text AS tokens FROM claimed c
