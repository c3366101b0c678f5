"""The functions on lists that the optimizers with a fused kernel are made of."""

from torch.optim.adam import adam
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

__all__ = ["adam", "adamw", "sgd"]
