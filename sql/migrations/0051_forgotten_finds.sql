-- What is found by searching is stored with documents of people, too: the forgotten are left out of it.
SET LOCAL ROLE magpie_owner;

CREATE FUNCTION magpie.strip_forgotten() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_forgotten bigint[];
BEGIN
  IF NEW.kind <> 'users' OR NOT EXISTS (SELECT FROM magpie.forgotten) THEN RETURN NEW; END IF;
  v_forgotten := magpie.forgotten_among('github-user', NEW.ids);
  IF cardinality(v_forgotten) > 0 THEN
    NEW.documents := ARRAY(SELECT x.document FROM unnest(NEW.ids, NEW.documents) WITH ORDINALITY AS x(id, document, n)
                            WHERE x.id <> ALL (v_forgotten) ORDER BY x.n);
    NEW.ids := ARRAY(SELECT x.id FROM unnest(NEW.ids) WITH ORDINALITY AS x(id, n) WHERE x.id <> ALL (v_forgotten) ORDER BY x.n);
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.strip_forgotten() IS 'Leaves people who were forgotten out of what searches have found.';
CREATE TRIGGER strip_forgotten BEFORE INSERT OR UPDATE ON magpie.search_page FOR EACH ROW EXECUTE FUNCTION magpie.strip_forgotten();

RESET ROLE;
