"""The server over HTTP: Streamable HTTP at /mcp, the older SSE transport at /sse, and keys."""
