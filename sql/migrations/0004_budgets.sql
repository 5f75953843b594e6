-- What an upstream lets us ask: the one gate every request to it goes through, shared by all processes.
--
-- No secret is stored here. A credential's id is made from a digest of it; only processes that hold the secret can use it.
-- Lock order: credential, then budget; never two credentials in one transaction.
SET LOCAL ROLE magpie_owner;

CREATE TABLE magpie.budget_class (
  class   smallint PRIMARY KEY CHECK (class BETWEEN 0 AND 3),
  name    text NOT NULL UNIQUE,
  reserve smallint NOT NULL CHECK (reserve BETWEEN 0 AND 100));
INSERT INTO magpie.budget_class (class, name, reserve)
VALUES (0, 'interactive', 0), (1, 'soon', 5), (2, 'background', 20), (3, 'idle', 50);

COMMENT ON TABLE magpie.budget_class IS
  'Classes of work, by priority (3 stands for all above). reserve: percent of a window that the class leaves to the classes before it.';

CREATE TABLE magpie.credential (
  id              text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
  pool            text NOT NULL,
  label           text NOT NULL DEFAULT '',
  seen_at         timestamptz NOT NULL DEFAULT now(),
  taken_at        timestamptz NOT NULL DEFAULT '-infinity',
  blocked_until   timestamptz NOT NULL DEFAULT '-infinity',
  strikes         smallint NOT NULL DEFAULT 0,
  outstanding     int NOT NULL DEFAULT 0 CHECK (outstanding >= 0),
  max_outstanding int NOT NULL DEFAULT 60 CHECK (max_outstanding > 0),
  per_second      double precision NOT NULL DEFAULT 10 CHECK (per_second > 0),
  burst           double precision NOT NULL DEFAULT 200 CHECK (burst >= 1),
  bucket          double precision NOT NULL DEFAULT 200,
  bucket_at       timestamptz NOT NULL DEFAULT now(),
  disabled_at     timestamptz,
  disabled_reason text
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

COMMENT ON TABLE magpie.credential IS 'Keys to upstreams, by digest. What limits a key as a whole is here, what limits one resource is in budget.';
COMMENT ON COLUMN magpie.credential.blocked_until IS 'Nobody may use it before: a refusal named this time, or gave none and we back off.';
COMMENT ON COLUMN magpie.credential.strikes IS 'Refusals in a row that named no time; each doubles the next wait.';
COMMENT ON COLUMN magpie.credential.outstanding IS 'Requests that were granted and not settled yet.';
COMMENT ON COLUMN magpie.credential.per_second IS 'Pace: burst requests at once, then so many a second.';
COMMENT ON COLUMN magpie.credential.disabled_at IS 'The upstream does not know the key any more. Set it to null to try again.';

CREATE TABLE magpie.budget (
  credential   text NOT NULL REFERENCES magpie.credential ON DELETE CASCADE,
  resource     text NOT NULL CHECK (length(resource) BETWEEN 1 AND 64),
  window_limit int NOT NULL CHECK (window_limit >= 0),
  window_span  interval NOT NULL CHECK (window_span > interval '0'),
  remaining    int NOT NULL CHECK (remaining >= 0),
  reset_at     timestamptz NOT NULL DEFAULT '-infinity',
  confirmed    boolean NOT NULL DEFAULT false,
  PRIMARY KEY (credential, resource)
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

COMMENT ON TABLE magpie.budget IS 'Requests left, per credential and resource of the upstream.';
COMMENT ON COLUMN magpie.budget.remaining IS 'What may still be granted in this window; grants under way are already taken off.';
COMMENT ON COLUMN magpie.budget.confirmed IS 'reset_at comes from the upstream, not from our guess that a window starts with our first request.';

GRANT SELECT ON magpie.budget_class, magpie.credential, magpie.budget TO magpie_app;
GRANT SELECT ON magpie.budget_class TO magpie_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON magpie.credential, magpie.budget TO magpie_worker, magpie_admin;
GRANT SELECT, UPDATE ON magpie.budget_class TO magpie_admin;

RESET ROLE;
