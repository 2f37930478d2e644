"""UI trees parsed from dumps: roles, matchers, selectors and explanations. Pure."""
