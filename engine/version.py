"""The version of the product, and the Operator generations that it supports."""

__version__ = "0.5.0"
"""One number for the product on every face; what the JSON contract calls ``cliVersion``.

Its major.minor is that of the newest supported Operator generation.
"""

OPERATOR_RELEASES = {"0.3": "0.3.1", "0.5": "0.5.0"}
"""The supported generations of the Operator app, each with the release that the product is tested with."""
