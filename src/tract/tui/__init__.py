"""The text interface: dialogs on a screen, to be read, searched, followed and changed."""
