"""What crosses the engine's borders: payloads in, envelopes back, each rule stated once and checked before anything runs."""
