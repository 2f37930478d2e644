"""The Operator's action semantics (wire §4, §7) as host code over a small ``Surface``: written once, used by the stock backend and by the simulator."""
