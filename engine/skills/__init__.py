"""Skills: a registry of folders with a script and recipes each, which compile into executions or run as programs."""
