-- Budgets, for administrators.
SET LOCAL ROLE magpie_owner;

DROP VIEW IF EXISTS admin.budgets;
CREATE VIEW admin.budgets WITH (security_invoker = true) AS
  SELECT c.pool, c.label, c.id AS credential, b.resource,
    CASE WHEN c.disabled_at IS NOT NULL THEN 'disabled'
         WHEN c.blocked_until > now() THEN 'limited'
         WHEN b.reset_at > now() AND b.remaining = 0 THEN 'spent'
         ELSE 'open' END AS state,
    b.window_limit AS "limit",
    CASE WHEN b.reset_at > now() THEN b.remaining ELSE b.window_limit END AS remaining,
    CASE WHEN b.reset_at > now() THEN b.reset_at END AS resets_at,
    CASE WHEN c.blocked_until > now() THEN c.blocked_until END AS blocked_until,
    c.strikes, c.outstanding, c.disabled_at, c.disabled_reason, c.seen_at
  FROM magpie.credential c JOIN magpie.budget b ON b.credential = c.id;
COMMENT ON VIEW admin.budgets IS
  'What is left at the upstreams, by key and resource. A disabled key was refused; UPDATE magpie.credential SET disabled_at = NULL tries it again.';

CREATE OR REPLACE FUNCTION admin.set_budget_floor(class text, percent int)
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.budget_class k SET reserve = percent WHERE k.name = set_budget_floor.class;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no class "%"', set_budget_floor.class USING ERRCODE = 'invalid_parameter_value',
      HINT = 'The classes are interactive, soon, background and idle.';
  END IF;
END $$;
COMMENT ON FUNCTION admin.set_budget_floor IS
  'Percent of every budget window that a class (interactive, soon, background, idle) must leave to the classes before it.';

RESET ROLE;
