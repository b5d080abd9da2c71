"""Hooks of coding agents: each result is stored in full, and a large one is sent as its reference.

`runner` is the command that an agent starts; one module per agent knows its events.
"""
