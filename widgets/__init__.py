"""What the console is made of: values in, messages out."""
