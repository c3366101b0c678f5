"""Function transforms; torch.func and torch.vmap are their public names."""
