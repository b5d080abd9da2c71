"""The text interface: read, search, follow and edit dialogs on a screen."""
