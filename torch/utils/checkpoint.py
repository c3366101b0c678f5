"""Memory for time: what backward needs is computed again instead of kept."""

import contextlib
import enum
import functools
import warnings
import weakref

import torch

__all__ = ["checkpoint", "checkpoint_sequential", "CheckpointError", "CheckpointFunction",
           "check_backward_validity", "detach_variable", "get_device_states", "set_device_states",
           "noop_context_fn", "set_checkpoint_early_stop", "set_checkpoint_debug_enabled",
           "DefaultDeviceType", "CheckpointPolicy", "SelectiveCheckpointContext",
           "create_selective_checkpoint_contexts", "SAC_IGNORED_OPS", "GraphExecGroup"]

_DEFAULT_DETERMINISM_MODE = "default"
_early_stop_override = None
_debug_override = None
SAC_IGNORED_OPS = set()


class CheckpointError(RuntimeError):
    """The second run of a function did not do what the first did."""


class _StopRecomputationError(Exception):
    """Ends a second run once everything that is needed is there."""


class CheckpointPolicy(enum.Enum):
    """What selective checkpointing does with the result of an operator."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """Given to a policy function: whether this is the second run."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


class GraphExecGroup:
    """Several backward passes that use what one second run computed."""

    def __init__(self):
        raise NotImplementedError("GraphExecGroup")


class DefaultDeviceType:
    """The device whose random state is kept when no argument names one."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type():
        return DefaultDeviceType._default_device_type


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Contexts for `context_fn` that keep the results of chosen operators."""
    raise NotImplementedError("create_selective_checkpoint_contexts: it needs __torch_dispatch__ "
                              "modes, which are not there yet")


def detach_variable(inputs):
    """The tensors of a tuple as leaves that require a gradient as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"inputs must be a tuple, got {type(inputs).__name__}")
    out = []
    for x in inputs:
        if isinstance(x, torch.Tensor):
            detached = x.detach()
            detached.requires_grad = x.requires_grad
            x = detached
        out.append(x)
    return tuple(out)


def check_backward_validity(inputs):
    """Warns when no input requires a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, torch.Tensor)):
        warnings.warn("none of the inputs of checkpoint requires a gradient: there will be none "
                      "for what is within", stacklevel=3)


def get_device_states(*args):
    """(indices, random states) of the accelerators of the tensors."""
    indices = sorted({t.get_device() for t in args
                      if isinstance(t, torch.Tensor) and t.device.type == "cuda"})
    return indices, [torch.cuda.get_rng_state(i) for i in indices]


def set_device_states(devices, states, *, device_type=None):
    """Sets what `get_device_states` gave."""
    for index, state in zip(devices, states):
        torch.cuda.set_rng_state(state, index)


class _Surroundings:
    """What a function sees besides its arguments: random states and autocast."""

    def __init__(self, preserve_rng_state, args):
        self.preserve = preserve_rng_state
        if preserve_rng_state:
            self.cpu_state = torch.random.get_rng_state()
            self.devices, self.states = get_device_states(*args)
        self.autocast = _autocast_state()

    @contextlib.contextmanager
    def restored(self):
        with contextlib.ExitStack() as stack:
            if self.preserve:
                stack.enter_context(torch.random.fork_rng(
                    devices=self.devices, enabled=True))
                torch.random.set_rng_state(self.cpu_state)
                set_device_states(self.devices, self.states)
            for kwargs in self.autocast:
                stack.enter_context(torch.amp.autocast(**kwargs))
            yield


def _autocast_state():
    """Arguments of the autocast contexts that are on, one for each device."""
    try:
        amp = torch.amp
        enabled = torch.is_autocast_enabled
    except (AttributeError, ImportError):
        return []
    states = []
    for device in ("cpu", "cuda"):
        try:
            if amp is not None and enabled(device):
                states.append({"device_type": device, "enabled": True,
                               "dtype": torch.get_autocast_dtype(device),
                               "cache_enabled": torch.is_autocast_cache_enabled()})
        except (TypeError, RuntimeError, NotImplementedError):
            continue
    return states


class CheckpointFunction(torch.autograd.Function):
    """The reentrant form: forward without a graph, and in backward again with one."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state, args)
        ctx.inputs = []
        ctx.tensor_indices = []
        tensors = []
        for i, arg in enumerate(args):
            if isinstance(arg, torch.Tensor):
                tensors.append(arg)
                ctx.tensor_indices.append(i)
                ctx.inputs.append(None)
            else:
                ctx.inputs.append(arg)
        ctx.save_for_backward(*tensors)
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *args):
        if not torch.autograd._is_checkpoint_valid():
            raise RuntimeError("with use_reentrant=True checkpoint works under backward() without "
                               "`inputs` only, not under grad(): pass use_reentrant=False")
        inputs = list(ctx.inputs)
        for i, t in zip(ctx.tensor_indices, ctx.saved_tensors):
            inputs[i] = t
        with ctx.surroundings.restored():
            detached = detach_variable(tuple(inputs))
            with torch.enable_grad():
                outputs = ctx.run_function(*detached)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        with_grad = [(o, g) for o, g in zip(outputs, args)
                     if isinstance(o, torch.Tensor) and o.requires_grad]
        if not with_grad:
            raise RuntimeError("no output of the checkpointed function requires a gradient")
        torch.autograd.backward([o for o, _ in with_grad], [g for _, g in with_grad])
        return (None, None, *(x.grad if isinstance(x, torch.Tensor) else None for x in detached))


def noop_context_fn():
    """The default of `context_fn`: nothing around either run."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Whether second runs within the block end when all that is needed is there."""
    global _early_stop_override
    before = _early_stop_override
    _early_stop_override = enable
    try:
        yield
    finally:
        _early_stop_override = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Whether checkpoints within the block explain differences of the two runs at length."""
    global _debug_override
    before = _debug_override
    _debug_override = enabled
    try:
        yield
    finally:
        _debug_override = before


def _default_meta_extractor(x):
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


_allowed_determinism_checks_to_fns = {
    _DEFAULT_DETERMINISM_MODE: _default_meta_extractor, "none": lambda _: None}


class _Holder:
    """Stands in the graph for a tensor that was not kept: the number of the save within a run."""

    __slots__ = ("number", "__weakref__")

    def __init__(self, number):
        self.number = number


class _Frame:
    """One call of a checkpointed function: what its saves looked like, and how to run it again."""

    def __init__(self, rerun, early_stop, describe):
        self.rerun, self.early_stop, self.describe = rerun, early_stop, describe
        self.holders = []       # weak references, in the order of the saves
        self.descriptions = []
        self.values = {}        # number -> tensor, of a second run, until it is taken
        self.complete = False   # the first run ended

    def pack(self, x):
        holder = _Holder(len(self.holders))
        self.holders.append(weakref.ref(holder))
        self.descriptions.append(self.describe(x))
        return holder

    def unpack(self, holder):
        if holder.number not in self.values:
            self._run_again()
        if holder.number not in self.values:
            raise CheckpointError(
                f"the second run of a checkpointed function saved {self.count} tensors for "
                f"backward, the first {len(self.holders)}: it must do the same work both times. "
                "With debug=True the operators of both runs are compared")
        return self.values.pop(holder.number)

    def _run_again(self):
        self.values.clear()
        self.count = 0
        last = max((i for i, ref in enumerate(self.holders) if ref() is not None), default=-1)
        differences = []

        def pack(x):
            number = self.count
            self.count += 1
            if number < len(self.holders):
                now, before = self.describe(x), self.descriptions[number]
                if now != before:
                    differences.append(f"save {number}: first {before}, then {now}")
                if self.holders[number]() is not None:
                    self.values[number] = x.detach()
            if self.early_stop and number >= last:
                raise _StopRecomputationError
            return x.detach()

        def unpack(x):
            return x  # the graph of the second run is walked by grad() within the function only

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack), torch.enable_grad():
            try:
                self.rerun()
            except _StopRecomputationError:
                pass
        if differences:
            self.values.clear()
            raise CheckpointError("the second run of a checkpointed function saved other tensors "
                                  "for backward than the first: " + "; ".join(differences[:8]))
        if not self.early_stop and self.count != len(self.holders):
            self.values.clear()


@contextlib.contextmanager
def _without_reentry(fn, args, kwargs, preserve_rng_state, context_fn, determinism_check,
                     early_stop):
    if determinism_check not in _allowed_determinism_checks_to_fns:
        raise ValueError("determinism_check must be one of "
                         f"{list(_allowed_determinism_checks_to_fns)}, got {determinism_check!r}")
    forward_context, again_context = context_fn()
    surroundings = _Surroundings(preserve_rng_state, args)

    def rerun():
        with surroundings.restored(), again_context:
            fn(*args, **kwargs)

    frame = _Frame(rerun, early_stop, _allowed_determinism_checks_to_fns[determinism_check])
    with torch.autograd.graph.saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        yield
    frame.complete = True


def checkpoint(function=None, *args, use_reentrant=None, preserve_rng_state=True,
               context_fn=noop_context_fn, determinism_check=_DEFAULT_DETERMINISM_MODE,
               debug=False, early_stop=True, respect_saved_tensors_hooks=None, **kwargs):
    """function(*args, **kwargs), whose intermediate results are computed again in backward.

    `use_reentrant=False` (to be preferred) saves nothing within and runs the function again for
    what backward asks; True runs backward within backward, for which an input must require a
    gradient. `preserve_rng_state` gives the second run the same random numbers; `context_fn` two
    contexts for the two runs; `early_stop` ends the second run when all is there. Without a
    function it gives a decorator. Raises CheckpointError when the two runs differ.
    """
    if function is None:
        options = {"use_reentrant": use_reentrant, "preserve_rng_state": preserve_rng_state,
                   "context_fn": context_fn, "determinism_check": determinism_check,
                   "debug": debug, "early_stop": early_stop}

        def decorate(func):
            @functools.wraps(func)
            def wrapped(*args, **kwargs):
                return checkpoint(functools.partial(func, **kwargs) if kwargs else func, *args,
                                  **options)
            return wrapped
        return decorate
    if use_reentrant is None:
        warnings.warn("checkpoint should be told use_reentrant; the default, True, will change. "
                      "use_reentrant=False is to be preferred", stacklevel=2)
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError(f"with use_reentrant=True the function takes no keywords, got "
                             f"{', '.join(kwargs)}")
        if context_fn is not noop_context_fn or debug:
            raise ValueError("context_fn and debug=True need use_reentrant=False")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    if _early_stop_override is not None:
        early_stop = _early_stop_override
    with _without_reentry(function, args, kwargs, preserve_rng_state, context_fn,
                          determinism_check, early_stop):
        return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Runs modules one after the other in `segments` parts, all but the last checkpointed."""
    if use_reentrant is None:
        warnings.warn("checkpoint_sequential should be told use_reentrant; the default, True, "
                      "will change. use_reentrant=False is to be preferred", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"unknown keywords: {', '.join(kwargs)}")
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())

    def run(start, end):
        def forward(x):
            for f in functions[start:end + 1]:
                x = f(x)
            return x
        return forward

    size = len(functions) // segments
    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(run(start, end), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve)
    return run(end + 1, len(functions) - 1)(input)
