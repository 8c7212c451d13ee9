"""Features of the protocol beside tools: resources, prompts and completions."""
