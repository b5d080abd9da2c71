"""The server: `Tract` over HTTP, for one database and many clients."""
