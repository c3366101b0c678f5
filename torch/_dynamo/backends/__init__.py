"""Back ends of torch.compile: what makes a callable of a graph."""
