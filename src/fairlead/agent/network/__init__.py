"""Connections of the agent: TLS that is proven, HTTP/1.1, and one gRPC call over HTTP/2."""
