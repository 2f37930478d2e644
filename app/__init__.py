"""The faces of the product; each holds one engine."""
