"""Runs an optimizer on other parameters and state for a while."""

from collections import defaultdict
from contextlib import contextmanager

__all__ = ["swap_in_optimizer_params_and_state"]


@contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Within the context `optimizer` updates the given parameters with the given state.

    `swapin_parameters`: name -> tensor in the order of the optimizer's parameters;
    `swapin_optim_state`: of the form of `optimizer.state_dict()`, whose tensors are updated in
    place. Raises RuntimeError for an optimizer without state, ValueError for other sizes.
    """
    if not optimizer.state:
        raise RuntimeError("the optimizer has no state yet: run one step first")
    tensors = list(swapin_parameters.values())
    saved_groups, saved_state = optimizer.param_groups, optimizer.state
    count = sum(len(group["params"]) for group in saved_groups)
    if len(tensors) != count:
        raise ValueError(f"the optimizer has {count} parameters, got {len(tensors)}")
    given = swapin_optim_state["param_groups"]
    if len(given) != len(saved_groups):
        raise ValueError(f"the optimizer has {len(saved_groups)} groups, got {len(given)}")
    groups, by_number, at = [], {}, 0
    for group, new in zip(saved_groups, given):
        if len(new["params"]) != len(group["params"]):
            raise ValueError(f"a group has {len(group['params'])} parameters, got "
                             f"{len(new['params'])}")
        mine = tensors[at:at + len(group["params"])]
        at += len(mine)
        by_number.update(zip(new["params"], mine))
        groups.append({"params": mine, **{k: v for k, v in new.items() if k != "params"}})
    state = defaultdict(dict)
    for key, value in swapin_optim_state["state"].items():
        state[by_number.get(key, key)] = value
    optimizer.param_groups, optimizer.state = groups, state
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = saved_groups, saved_state
