"""The MCP face: the engine as tools and resources of the Model Context Protocol, over stdio or streamable HTTP."""
