-- All photos of a generation (Photos.load).
SELECT p.document FROM magpie.photo p ORDER BY p.position
