-- Which generation of the photos is stored, and since when (Photos.query without a token).
SELECT s.generation, s.fetched_at, s.validated_at, extract(epoch FROM now() - s.validated_at)::float8 AS age
  FROM magpie.photo_set s WHERE s.name = 'photos'
