"""Payloads, envelopes and the rules for them; everything is validated before anything runs."""
