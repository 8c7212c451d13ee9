"""Names and values of other memory servers, read as ours."""
