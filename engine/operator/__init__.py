"""The Operator app on the device: is it there, does its version fit."""
