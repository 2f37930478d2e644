"""View models: what widgets show, as values. Pure."""
