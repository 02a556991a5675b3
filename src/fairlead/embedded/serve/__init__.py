"""The process: servers, their routes, the loop, and the client that commands use."""
