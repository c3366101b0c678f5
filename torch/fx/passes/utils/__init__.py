"""Finding parts of graphs."""
