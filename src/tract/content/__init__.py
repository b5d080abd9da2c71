"""One tool result: what it says at a glance, and the parts of it that a model asks for. Pure."""
