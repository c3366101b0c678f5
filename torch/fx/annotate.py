"""Types of proxies."""
from torch.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val, type):
    """Says that a proxy has a type, which generated code shows; other values come back as they are.

    RuntimeError for a proxy with another type already.
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(f"the node {val.node} has the type {val.node.type} already, so it cannot be annotated with "
                               f"{type}")
        val.node.type = type
    return val
