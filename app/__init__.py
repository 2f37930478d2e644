"""The interfaces of the product: command line, console, HTTP and MCP servers."""
