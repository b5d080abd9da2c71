"""A dialog of a tract server, with the methods of `Tract`."""
