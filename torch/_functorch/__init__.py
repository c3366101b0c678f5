"""Function transforms, whose public names are torch.func and torch.vmap, and graphs of functions: functional ones, and forward
and backward graphs ahead of time."""
