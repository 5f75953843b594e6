-- What a worker completes runs with (Sources/Magpie/Jobs/CompletedRun.swift). $1 ids, $2 their tokens.
WITH input AS (SELECT * FROM unnest($1::bigint[], $2::uuid[]) AS t (id, token)),
mine AS MATERIALIZED (
  SELECT j.id, j.rerun FROM magpie.job j JOIN input i ON i.id = j.id WHERE j.run_token = i.token FOR UPDATE OF j SKIP LOCKED),
gone AS (DELETE FROM magpie.job j WHERE j.id = ANY (ARRAY(SELECT m.id FROM mine m WHERE NOT m.rerun)) RETURNING j.*)
INSERT INTO magpie.job_done (id, state, created_at, started_at, worker_id, run_token, attempt, max_attempts, crashes,
  priority, unattended, kind, subject, args, progress_done, progress_total, last_error, errors)
SELECT g.id, 'completed', g.created_at, g.started_at, g.worker_id, g.run_token, g.attempt, g.max_attempts, g.crashes,
  g.priority, g.unattended, g.kind, g.subject, g.args, g.progress_done, g.progress_total, g.last_error, g.errors
FROM gone g
