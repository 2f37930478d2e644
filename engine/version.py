"""The version of the product, and the Operator generations that it supports."""

__version__ = "0.5.0"
"""One number for the product on every face; what the JSON contract calls ``cliVersion``."""

OPERATOR_RELEASES = {"0.3": "0.3.1", "0.5": "0.5.0", "0.9": "0.9.3", "0.10": "0.10.0", "0.12": "0.12.5", "1.0": "1.0.0"}
"""The generations of the Operator app, oldest first, each with the release that the product is tested with.

A release belongs to the newest generation that is not newer than itself. From 1.0 on the app is called Androperator.
"""

OPERATOR_RANGES = (((0, 3), (0, 3)), ((0, 5), (0, 12)), ((1, 0), (1, 1)))
"""The supported releases: the first and the last ``major.minor`` of each range."""
