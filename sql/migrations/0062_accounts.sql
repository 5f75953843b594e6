-- What people do with their own account: change it, change the password, delete it, and take that back.

SET LOCAL ROLE magpie_owner;

-- Names are shown to people, beside other text: no control characters, and nothing that turns the text after it round
-- (the embeddings, overrides and isolates of Unicode's bidirectional algorithm).
CREATE FUNCTION magpie.is_plain_text(p_text text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_text !~ '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]';
COMMENT ON FUNCTION magpie.is_plain_text(text) IS
  'Whether a text has neither control characters, nor line separators, nor characters that override the direction of others.';

UPDATE magpie.account a
   SET display_name = nullif(regexp_replace(a.display_name, '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]', '', 'g'), '')
 WHERE NOT magpie.is_plain_text(a.display_name);
UPDATE magpie.session s
   SET device = regexp_replace(s.device, '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]', '', 'g'),
       app = regexp_replace(s.app, '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]', '', 'g')
 WHERE NOT (magpie.is_plain_text(s.device) AND magpie.is_plain_text(s.app));
ALTER TABLE magpie.account
  ADD CONSTRAINT account_display_name_plain CHECK (magpie.is_plain_text(display_name)),
  ADD CONSTRAINT account_locale_length CHECK (length(locale) <= 35) NOT VALID;
ALTER TABLE magpie.session
  ADD CONSTRAINT session_names_plain CHECK (magpie.is_plain_text(device) AND magpie.is_plain_text(app));

CREATE FUNCTION magpie.change_password(p_token_hash bytea, p_old text, p_new text, p_end_others boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_account constant bigint := magpie.authenticate(p_token_hash, 'write');
BEGIN
  -- Compared with the hash that was checked: of two changes at the same time one wins, and the other is told.
  UPDATE magpie.account a SET password_hash = p_new WHERE a.id = v_account AND a.password_hash = p_old;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE magpie.invitation i SET redeemed_at = now() WHERE i.account_id = v_account AND i.redeemed_at IS NULL;
  IF p_end_others THEN
    UPDATE magpie.session s SET revoked_at = now()
     WHERE s.account_id = v_account AND s.revoked_at IS NULL AND s.token_hash <> p_token_hash;
  END IF;
  RETURN true;
END $$;
COMMENT ON FUNCTION magpie.change_password(bytea, text, text, boolean) IS
  'Sets a new password after the old one was checked; codes given out before are void. False when the token or the old hash is not good any more.';

CREATE FUNCTION magpie.delete_own_account(p_token_hash bytea, p_password_hash text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_account constant bigint := magpie.authenticate(p_token_hash, 'write');
BEGIN
  UPDATE magpie.account a SET deleted_at = now(), deletion_asked_at = now()
   WHERE a.id = v_account AND a.password_hash = p_password_hash;
  IF NOT FOUND THEN RETURN false; END IF;
  -- Restoring brings the account back, not what was signed in.
  UPDATE magpie.session s SET revoked_at = now() WHERE s.account_id = v_account AND s.revoked_at IS NULL;
  RETURN true;
END $$;
COMMENT ON FUNCTION magpie.delete_own_account(bytea, text) IS
  'Marks the token''s account as deleted by its owner, after the password was checked. False when the token or the hash is not good any more.';

CREATE FUNCTION magpie.restore_account(p_account bigint, p_password_hash text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.account a SET deleted_at = NULL, deletion_asked_at = NULL
   WHERE a.id = p_account AND a.password_hash = p_password_hash AND a.disabled_at IS NULL
     AND a.deleted_at = a.deletion_asked_at AND a.deleted_at > now() - interval '30 days';
  RETURN FOUND OR EXISTS (SELECT FROM magpie.account a
                           WHERE a.id = p_account AND a.disabled_at IS NULL AND a.deleted_at IS NULL);
END $$;
COMMENT ON FUNCTION magpie.restore_account(bigint, text) IS
  'Takes an owner''s deletion back, after the password was checked. Also true when there is nothing to take back.';

CREATE FUNCTION magpie.erase_account() RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_account bigint;
BEGIN
  SELECT a.id INTO v_account FROM magpie.account a
   WHERE a.deleted_at <= now() - interval '30 days' ORDER BY a.deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN false; END IF;
  DELETE FROM magpie.job_asker j WHERE j.account_id = v_account;
  DELETE FROM magpie.account a WHERE a.id = v_account;
  -- That something was done stays; what it was done with does not.
  UPDATE magpie.audit u SET before = NULL, after = NULL
   WHERE u.account_id = v_account AND (u.before IS NOT NULL OR u.after IS NOT NULL);
  RETURN true;
END $$;
COMMENT ON FUNCTION magpie.erase_account() IS
  'Erases one account that was deleted 30 days ago, with all it has; false when there is none. Called by a worker.';

GRANT EXECUTE ON FUNCTION magpie.is_plain_text(text) TO magpie_app, magpie_worker, magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.change_password(bytea, text, text, boolean), magpie.delete_own_account(bytea, text),
  magpie.restore_account(bigint, text) TO magpie_app;
GRANT EXECUTE ON FUNCTION magpie.erase_account() TO magpie_worker;
RESET ROLE;
