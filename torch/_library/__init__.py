"""Operators defined from Python: what `torch.library` is made of."""
