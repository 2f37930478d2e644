"""The virtual devices of this computer: what there is, what runs, and how to get a usable one (emulator contract)."""
