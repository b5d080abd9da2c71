"""How people see a history. Pure: the terminal, the text interface and the web page share it."""
