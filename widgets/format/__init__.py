"""Formatters: models as styled lines. Pure; device text is escaped by ``Line.device`` and ``wrapped``."""
