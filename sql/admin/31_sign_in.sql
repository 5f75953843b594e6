-- Sign-in delays for administrators.
SET LOCAL ROLE magpie_owner;

CREATE OR REPLACE FUNCTION admin.forgive_attempts() RETURNS int
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_count int;
BEGIN
  DELETE FROM magpie.attempt;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;
COMMENT ON FUNCTION admin.forgive_attempts() IS
  'Lets everybody who has to wait after wrong passwords try again at once, and returns how many counters there were. Whose they are cannot be seen.';

RESET ROLE;
