"""Old home of Variable."""
from torch.autograd import Variable  # noqa: F401
