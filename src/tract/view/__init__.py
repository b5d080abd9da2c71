"""What people see of a history. Pure: one model feeds the terminal, the text interface and the web
page."""
