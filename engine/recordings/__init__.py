"""What the Operator recorded while somebody used a device, and what can be made of it: a step log, a recipe, a replay."""
