"""One message per tick for everybody who watches: built from the tail, encoded once, sent to all."""
