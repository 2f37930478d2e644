"""Android devices that do not exist, behind the protocols that real ones speak."""
