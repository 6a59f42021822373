-- What finds spellings by their text holds rang too, which puts places, names and spellings in the order of answers: no row is read for it.

DROP INDEX skrivemaate_norm;
DROP INDEX skrivemaate_rev;
CREATE INDEX skrivemaate_norm ON skrivemaate (norm, sted_id, stedsnavn_id, rang);
CREATE INDEX skrivemaate_rev ON skrivemaate (rev, sted_id, stedsnavn_id, rang);
