"""The CPU's default stream of random numbers."""
import contextlib

from torch._C import default_generator


def manual_seed(seed):
    """Sets the seed of the default generator, and returns the generator. Any int from -2^63 to 2^64 - 1."""
    return default_generator.manual_seed(int(seed))


def seed():
    """Seeds the default generator from the system, and returns the seed."""
    return default_generator.seed()


def initial_seed():
    """The seed given last."""
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the default generator, a uint8 tensor of 5056 bytes."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Takes a state that get_rng_state() gave."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """Within it draws do not move the outer stream."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def thread_safe_generator():
    return None
