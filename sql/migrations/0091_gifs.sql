-- Answers of GIPHY, for the minutes that it takes to look through them. Nothing of them is indexed, and no picture is kept.
SET LOCAL ROLE magpie_owner;

CREATE TABLE magpie.gif_answer (
  key         bytea PRIMARY KEY CHECK (length(key) = 32),
  status      int NOT NULL CHECK (status IN (200, 404)),
  shape       text NOT NULL CHECK (shape IN ('list', 'one', 'other')),
  ids         text[] NOT NULL DEFAULT '{}',
  documents   text[] NOT NULL DEFAULT '{}' CHECK (shape = 'other' OR cardinality(documents) = cardinality(ids)),
  total_count bigint,
  item_count  bigint,
  item_offset bigint,
  response_id text NOT NULL DEFAULT '',
  fetched_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX gif_answer_age ON magpie.gif_answer (fetched_at);
COMMENT ON TABLE magpie.gif_answer IS 'Answers of GIPHY by question, for an hour at most. Empty unless the operator has set a key.';
COMMENT ON COLUMN magpie.gif_answer.key IS 'SHA-256 of the question in its normal form, which has no API key in it. Job giphy is named by it.';
COMMENT ON COLUMN magpie.gif_answer.documents IS 'The items as they came, in the upstream''s order; of shape other the whole of data.';
COMMENT ON COLUMN magpie.gif_answer.item_count IS 'Places the page takes, repeated items included.';

CREATE FUNCTION magpie.sweep_gifs(p_keep interval DEFAULT '1 hour', p_max bigint DEFAULT 2000) RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  WITH gone AS (
    DELETE FROM magpie.gif_answer g
     WHERE g.fetched_at < now() - p_keep
        OR g.fetched_at < (SELECT x.fetched_at FROM magpie.gif_answer x ORDER BY x.fetched_at DESC OFFSET greatest(p_max, 1) - 1 LIMIT 1)
    RETURNING 1)
  SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION magpie.sweep_gifs(interval, bigint) IS 'Deletes answers of GIPHY that are old, or beyond the number kept.';

GRANT SELECT ON magpie.gif_answer TO magpie_app, magpie_worker, magpie_admin;
GRANT INSERT, UPDATE, DELETE ON magpie.gif_answer TO magpie_worker;
GRANT DELETE ON magpie.gif_answer TO magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.sweep_gifs(interval, bigint) TO magpie_worker;

RESET ROLE;
