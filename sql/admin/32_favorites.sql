-- Collections and activity for administrators.
SET LOCAL ROLE magpie_owner;

DROP VIEW IF EXISTS admin.collections;
CREATE VIEW admin.collections WITH (security_invoker = true) AS
  SELECT a.username, c.id, c.name, c.rank,
         (SELECT count(*) FROM magpie.favorite_collection m WHERE m.account_id = c.account_id AND m.collection_id = c.id) AS favorites,
         c.created_at, c.updated_at, c.version
    FROM magpie.collection c JOIN magpie.account a ON a.id = c.account_id;
COMMENT ON VIEW admin.collections IS 'Collections of all accounts and how much is in them. Write to magpie.collection and magpie.favorite_collection.';

RESET ROLE;
