-- Server and worker ask whether the schema is the one it was made for.
SET LOCAL ROLE magpie_owner;

GRANT SELECT ON magpie.migration TO magpie_app, magpie_worker;

RESET ROLE;
