"""torch.compile."""

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, name=None, disable=False,
            recompile_limit=None, isolate_recompiles=False, dynamic_shapes=None):
    """compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False)

    A function or module that gives what `model` gives, as a graph that is compiled at the first call and again where a
    later call is unlike it (another dtype, shape, flag or constant). What is not proven safe to compile runs as it is,
    between graphs, with one notice. Also a decorator, with arguments and without.

    fullgraph: such code is an error (torch._dynamo.exc.Unsupported) that names the line. dynamic: True serves all sizes
    with one graph where Python does not read them; None does from the second graph on. backend: a name
    (torch._dynamo.list_backends) or a function of (GraphModule, example inputs) that gives a callable. mode: accepted
    ("default", "reduce-overhead", "max-autotune", ...); the machine code is the same. options: settings of the back end
    ("inductor" knows those of torch._inductor.list_options, which change no result and nothing else here); a back end that is
    a function gets options and mode as keyword arguments. disable: model as it is.
    Raises RuntimeError for an unknown mode or option and for mode together with options, torch._dynamo.exc.InvalidBackend
    for an unknown back end.
    """
    if mode is not None and options is not None:
        raise RuntimeError("torch.compile takes either mode or options, not both")
    if mode is not None and backend in (None, "inductor") and mode not in _MODES:
        raise RuntimeError(f"torch.compile has no mode {mode!r}; it is one of {', '.join(_MODES)}")
    if disable:
        return model if model is not None else (lambda m: m)
    if model is None:
        return lambda m: compile(m, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options,
                                 recompile_limit=recompile_limit)
    from torch import _dynamo, compiler
    if backend is None:
        backend = compiler.get_default_backend()
    if isinstance(backend, str):
        _dynamo.lookup_backend(backend)
    settings = {}
    if backend == "inductor":
        if options:
            from torch import _inductor
            _inductor.check_options(options)
    elif options:
        settings["options"] = dict(options)
    elif mode not in (None, "default"):
        settings["mode"] = mode
    return _dynamo.eval_frame.compiled_callable(model, backend=backend, fullgraph=fullgraph, dynamic=dynamic, settings=settings,
                                                limit=recompile_limit)
