"""Lists of messages as agent frameworks write them: one module per format, and one detector."""
