"""One execution: validate, hold the device, run, finish."""
