"""Log bytes become entries, envelopes, dumps and progress. Pure."""
