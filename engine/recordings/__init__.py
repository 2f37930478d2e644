"""What the Operator recorded while a person used a device, and what can be made of it: a step log, a recipe, a replay."""
