"""The older name of torch.hub's loading from a URL."""

from torch.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
