"""Averages of weights over training: SWA (Izmailov et al., 2018) and exponential means."""

import itertools
import math
import warnings
from copy import deepcopy

import torch
from torch.optim.lr_scheduler import LRScheduler, _format_param, _update_param_group_val

__all__ = ["AveragedModel", "update_bn", "SWALR", "get_ema_multi_avg_fn", "get_swa_multi_avg_fn",
           "get_ema_avg_fn", "get_swa_avg_fn"]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"decay must be in [0, 1], got {decay}")


def get_ema_multi_avg_fn(decay=0.999):
    """A function on lists for `multi_avg_fn`: mean = decay * mean + (1 - decay) * current."""
    _check_decay(decay)
    single = get_ema_avg_fn(decay)

    @torch.no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for ema, current in zip(ema_param_list, current_param_list):
            ema.copy_(single(ema, current.to(ema.device), 0))

    return ema_update


def get_swa_multi_avg_fn():
    """A function on lists for `multi_avg_fn`: the equal mean of all models."""
    single = get_swa_avg_fn()

    @torch.no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        for mean, current in zip(averaged_param_list, current_param_list):
            mean.copy_(single(mean, current.to(mean.device), num_averaged))

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """A function for `avg_fn`: decay * mean + (1 - decay) * current."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        if ema_param.is_floating_point() or ema_param.is_complex():
            return torch.lerp(ema_param, current_param.to(ema_param.dtype), 1 - decay)
        return ema_param * decay + current_param * (1 - decay)

    return ema_update


def get_swa_avg_fn():
    """A function for `avg_fn`: mean + (current - mean) / (n + 1)."""

    @torch.no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(torch.nn.Module):
    """A copy of `model` whose parameters are means of those given to `update_parameters`.

    `avg_fn(mean, current, n)` gives one new mean, `multi_avg_fn(means, currents, n)` writes lists
    in place; the default is the equal mean. `use_buffers` averages the buffers too, else they are
    copied. Buffer "n_averaged" counts the updates.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("give avg_fn or multi_avg_fn, not both")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Takes the present parameters of `model` into the means."""
        def tensors(m):
            return itertools.chain(m.parameters(), m.buffers()) if self.use_buffers \
                else m.parameters()

        means = [p.detach() for p in tensors(self.module)]
        currents = [p.detach() for p in tensors(model)]
        first = bool(self.n_averaged == 0)
        if first:
            for mean, current in zip(means, currents):
                mean.copy_(current)
        elif self.multi_avg_fn is not None:
            groups = {}
            for mean, current in zip(means, currents):
                pair = groups.setdefault((mean.device, mean.dtype), ([], []))
                pair[0].append(mean)
                pair[1].append(current)
            for group_means, group_currents in groups.values():
                n = self.n_averaged.to(group_means[0].device)
                self.multi_avg_fn(group_means, group_currents, n)
        else:
            fn = self.avg_fn if self.avg_fn is not None else get_swa_avg_fn()
            for mean, current in zip(means, currents):
                n = self.n_averaged.to(mean.device)
                mean.copy_(fn(mean, current.to(mean.device), n))
        if not self.use_buffers:
            for mean, current in zip(self.module.buffers(), model.buffers()):
                mean.detach().copy_(current.detach().to(mean.device))
        self.n_averaged += 1


@torch.no_grad()
def update_bn(loader, model, device=None):
    """Recomputes the running statistics of all BatchNorm layers by one pass over `loader`.

    Items of the loader that are lists or tuples are given to the model by their first element.
    """
    layers = {m: m.momentum for m in model.modules()
              if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)}
    if not layers:
        return
    training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    for item in loader:
        if isinstance(item, (list, tuple)):
            item = item[0]
        if device is not None:
            item = item.to(device)
        model(item)
    for layer, momentum in layers.items():
        layer.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """Goes from each group's rate to `swa_lr` within `anneal_epochs`, by a cosine or a line."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for rate, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be an integer of 0 or more, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t):
        return t

    @staticmethod
    def _cosine_anneal(t):
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr, swa_lr, alpha):
        """The rate that the present one, a mix of part alpha, started from."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def _set_anneal_func(self, anneal_strategy):
        self._anneal_strategy = anneal_strategy
        self.anneal_func = (self._cosine_anneal if anneal_strategy == "cos"
                            else self._linear_anneal)

    def get_lr(self):
        if not self._get_lr_called_within_step:
            warnings.warn("get_lr() computes the next rate and is for step() alone; read the "
                          "present one by get_last_lr()", UserWarning, stacklevel=2)
        step = self._step_count - 1
        last = max(1, self.anneal_epochs)
        before = self.anneal_func(max(0, min(1, (step - 1) / last)))
        now = self.anneal_func(max(0, min(1, step / last)))
        out = []
        for group in self.optimizer.param_groups:
            start = self._get_initial_lr(group["lr"], group["swa_lr"], before)
            out.append(group["swa_lr"] * now + start * (1 - now))
        return out

    def state_dict(self):
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "anneal_func")}

    def load_state_dict(self, state_dict):
        self.__dict__.update(state_dict)
        self._set_anneal_func(self._anneal_strategy)
