"""UI dumps become trees; roles, matchers, and why a matcher does not match. Pure."""
