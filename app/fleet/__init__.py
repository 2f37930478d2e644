"""A fleet: the devices of many hosts through one NATS system."""
