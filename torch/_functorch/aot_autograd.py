"""Forward and backward as graphs before they run.

A function is traced together with its backward into one joint graph without writes, which a partitioner splits; each half
goes to a compiler. What comes out is called as the function was, and autograd runs the compiled backward.
"""
import functools

import torch
from torch._functorch.compilers import make_boxed_func
from torch._functorch.functionalization import functionalize_graph
from torch._functorch.partitioners import default_partition
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import Node
from torch.utils import _pytree as pytree

__all__ = ["aot_function", "aot_module", "aot_module_simplified", "create_joint", "make_boxed_func", "aot_export_joint_simple",
           "aot_export_module"]


def create_joint(fn):
    """`fn(*primals)` as joint(primals, tangents) -> (results, gradients of the primals that require any, None for others).
    """
    def joint(primals, tangents):
        with torch.enable_grad():
            outputs = fn(*primals)
        flat = list(outputs)
        wanted = [p for p in primals if isinstance(p, torch.Tensor) and p.requires_grad]
        used = [o for o in flat if isinstance(o, torch.Tensor) and o.requires_grad]
        given = list(tangents)
        gradients = iter(())
        if wanted and used:
            gradients = iter(torch.autograd.grad(used, wanted, given, allow_unused=True))
        return flat, [next(gradients, None) if isinstance(p, torch.Tensor) and p.requires_grad else None for p in primals]
    return joint


def _flat_function(fn, args_spec):
    """(function of flat arguments giving a flat list, a cell that gets the spec of the results)"""
    cell = []

    def flat(*flat_args):
        args, kwargs = pytree.tree_unflatten(list(flat_args), args_spec)
        out, spec = pytree.tree_flatten(fn(*args, **kwargs))
        cell[:] = [spec]
        return out
    return flat, cell


def _take_writes(graph):
    """Removes the writes to inputs at the end of a functional graph; {number of the input: node of its new value}."""
    places = [n for n in graph.nodes if n.op == "placeholder"]
    written = {}
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is torch.ops.aten.copy_.default and node.args[0].op == "placeholder":
            written[places.index(node.args[0])] = node.args[1]
            graph.erase_node(node)
    return written


def _boxed(compiled):
    """The compiled function as one of a list."""
    if getattr(compiled, "_boxed_call", False):
        return compiled
    return lambda args: compiled(*args)


def _examples(gm):
    return [n.meta.get("val") for n in gm.graph.nodes if n.op == "placeholder"]


def _fakes(flat_args, mode=None):
    """(mode, fake tensors in place of the tensors): tracing computes nothing and writes to nothing that the caller has."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    if mode is None:
        mode = next((x.fake_mode for x in flat_args if isinstance(x, FakeTensor)), None)
    if mode is None:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
    return mode, [mode.from_tensor(x.detach()).requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
                  for x in flat_args]


def _trace_flat(fn, flat_args, decompositions):
    """The functional graph of `fn(*flat_args)` without its backward; (module, {input: new value})."""
    _, args = _fakes([x.detach() if isinstance(x, torch.Tensor) else x for x in flat_args])
    with torch.no_grad():
        gm = _trace(fn, args, decompositions, [f"arg{i}_1" for i in range(len(args))])
    return gm, _finish(gm)


def _finish(gm):
    """Makes the output of a functional graph a list with the new values of written inputs first."""
    written = _take_writes(gm.graph)
    for node in gm.graph.nodes:
        if node.target is torch.ops.aten.copy_.default and node.args[0].op == "get_attr":
            raise NotImplementedError("aot_function: the function writes to a tensor that is none of its arguments")
    output = gm.graph.output_node()
    results = output.args[0]
    output.args = ((*[written[i] for i in sorted(written)], *results),)
    gm.recompile()
    return written


def _trace(f, args, decompositions, names):
    """make_fx on flat arguments under names of our own, then without writes."""
    places = ", ".join(f"p{i}" for i in range(len(args)))
    named = eval(f"lambda {places}: f({places})", {"f": f})
    gm = make_fx(named, decomposition_table=decompositions, tracing_mode="fake")(*args)
    for node, name in zip([n for n in gm.graph.nodes if n.op == "placeholder"], names):
        node.target = name
        node._rename(name)
    return functionalize_graph(gm, detached=True)


def _trace_joint(fn, flat_args, decompositions):
    """(joint module, {input: new value}, number of results)"""
    hooks = torch._C._switch_saved_hooks(0)   # they are of a call, no part of the graph
    try:
        return _trace_both(fn, flat_args, decompositions)
    finally:
        torch._C._switch_saved_hooks(hooks)


def _trace_both(fn, flat_args, decompositions):
    mode, primals = _fakes(flat_args)
    # One run tells the results' shapes, which the tangents have.
    with torch.enable_grad(), mode:
        outputs = list(fn(*primals))
    requires = [isinstance(o, torch.Tensor) and o.requires_grad for o in outputs]
    with mode, torch.no_grad():
        tangents = [torch.ones_like(o) for o, r in zip(outputs, requires) if r]
    count, n = len(outputs), len(primals)
    _, primals = _fakes(flat_args, mode)  # that run may have written to the first ones
    joint = create_joint(fn)

    def flat_joint(*args):
        outs, grads = joint(list(args[:n]), list(args[n:]))
        return [*outs, *grads]
    names = [f"primals_{i + 1}" for i in range(n)] + [f"tangents_{i + 1}" for i in range(len(tangents))]
    gm = _trace(flat_joint, [*primals, *tangents], decompositions, names)
    written = _finish(gm)
    gm.meta["requires"] = requires
    return gm, written, count


def _compile(fn, flat_args, fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions):
    needs = torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in flat_args)
    if not needs:
        same = {}   # {result: the input that it is}

        def noted(*args):
            outputs = fn(*args)
            same.update((k, i) for k, o in enumerate(outputs) for i, x in enumerate(args) if o is x and isinstance(x, torch.Tensor))
            return outputs
        gm, written = _trace_flat(noted, flat_args, decompositions)
        compiled = _boxed((inference_compiler or fw_compiler)(gm, _examples(gm)))
        return _inference(compiled, sorted(written), same)
    joint, written, count = _trace_joint(fn, flat_args, decompositions)
    total = count + len(written)
    for i in written:
        if flat_args[i].requires_grad:
            raise NotImplementedError(f"aot_function: the function writes to argument {i}, which requires grad")
    forward, backward = partition_fn(joint, [], num_fwd_outputs=total)
    return _training(forward, backward, sorted(written), count, fw_compiler, bw_compiler or fw_compiler, joint)


def _overlaps(flat_args, written):
    """Whether an input that is written shares its memory with another one: a graph without writes knows nothing of that."""
    tensors = [(i, x) for i, x in enumerate(flat_args) if isinstance(x, torch.Tensor)]
    return any(torch._C._same_storage(flat_args[i], x) for i in written for j, x in tensors if i != j)


def _write_back(flat_args, written, values):
    with torch.no_grad():
        for i, value in zip(written, values):
            flat_args[i].copy_(value)


def _laid_out(t, like):
    """A gradient with the strides that the backward was traced for."""
    if t.stride() == like.stride():
        return t
    return torch.empty_strided(t.size(), like.stride(), dtype=t.dtype, device=t.device).copy_(t)


def _inference(compiled, written, same):
    def run(flat_args):
        with torch.no_grad():
            outputs = list(compiled([x.detach() if isinstance(x, torch.Tensor) else x for x in flat_args]))
        _write_back(flat_args, written, outputs[:len(written)])
        results = outputs[len(written):]
        for k, i in same.items():
            results[k] = flat_args[i]
        return results
    run.written = written
    return run


def _training(forward, backward, written, count, fw_compiler, bw_compiler, joint):
    head = len(written) + count
    outs = forward.graph.output_node().args[0]
    with_tangent = [i for i, o in enumerate(joint.meta["requires"]) if o]
    compiled_fw = _boxed(fw_compiler(forward, _examples(forward)))
    state = {}
    differentiable = set(with_tangent)
    layouts = [n.meta["val"] for n in joint.graph.nodes if n.op == "placeholder" and n.target.startswith("tangents_")]

    def compiled_bw():
        # Compiled when it is first needed.
        if "bw" not in state:
            state["bw"] = _boxed(bw_compiler(backward, _examples(backward)))
        return state["bw"]
    # An input that is written after the forward is kept as it was.
    places = [n.name for n in joint.graph.nodes if n.op == "placeholder"]
    written_later = [isinstance(o, Node) and o.op == "placeholder" and places.index(o.name) in written for o in outs[head:]]
    tensor_saved = [isinstance(o, Node) and not isinstance(o.meta.get("val"), (int, float, bool)) for o in outs[head:]]

    class CompiledFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *flat_args):
            outputs = list(compiled_fw([x.detach() if isinstance(x, torch.Tensor) else x for x in flat_args]))
            saved = [s.clone() if c else s for s, c in zip(outputs[head:], written_later)]
            ctx.save_for_backward(*[s for s, t in zip(saved, tensor_saved) if t])
            ctx.numbers = [s for s, t in zip(saved, tensor_saved) if not t]
            results = outputs[:head]
            # Each result is an object of its own, and none of the inputs.
            seen = {id(x) for x in flat_args}
            for i, r in enumerate(results):
                if isinstance(r, torch.Tensor):
                    if id(r) in seen:
                        r = results[i] = r.view_as(r)
                    seen.add(id(r))
            ctx.mark_non_differentiable(*[r for i, r in enumerate(results) if isinstance(r, torch.Tensor)
                                          and (i < len(written) or i - len(written) not in differentiable)])
            ctx.set_materialize_grads(True)
            return tuple(results)

        @staticmethod
        def backward(ctx, *grads):
            tensors, numbers = iter(ctx.saved_tensors), iter(ctx.numbers)
            saved = [next(tensors) if t else next(numbers) for t in tensor_saved]
            tangents = [_laid_out(grads[len(written) + i], like) for i, like in zip(with_tangent, layouts)]
            if torch.is_grad_enabled():   # create_graph: what is saved has no history, so the result would lack it silently
                raise RuntimeError("a second derivative (create_graph=True) through aot_function: its backward is compiled and not recorded")
            return tuple(compiled_bw()([*saved, *tangents]))

    def run(flat_args):
        outputs = list(CompiledFunction.apply(*flat_args))
        _write_back(flat_args, written, outputs[:len(written)])
        return outputs[len(written):]
    run.forward_module, run.backward_module, run.written = forward, backward, written
    return run


def aot_function(fn, fw_compiler, bw_compiler=None, partition_fn=default_partition, decompositions=None, num_params_buffers=0,
                 keep_inference_input_mutations=False, inference_compiler=None, *, dynamic=False, enable_log=True):
    """`fn` with forward and backward compiled.

    Args:
        fn: takes and gives tensors in any containers.
        fw_compiler, bw_compiler: take a GraphModule and example inputs (fake tensors) and give a function with the same
            arguments; the backward's is `fw_compiler` where none is given. Where `_boxed_call` is set on what they give, it
            is called with one list (see `make_boxed_func`).
        partition_fn: splits the joint graph, e.g. `min_cut_rematerialization_partition`.
        decompositions: {overload: function} for the trace.
        inference_compiler: for calls without gradients.

    Each combination of shapes, types and wishes for gradients is traced once, as long as there are not more than MOST_FORMS.
    A call in which an input that `fn` writes shares its memory with another input is one of `fn` itself.
    """
    if dynamic:
        raise NotImplementedError("aot_function: dynamic=True (sizes as symbols) is not there yet")
    if bw_compiler is None:
        bw_compiler = fw_compiler
    cache = {}

    @functools.wraps(fn)
    def run(*args, **kwargs):
        flat, spec = pytree.tree_flatten((args, kwargs))
        key = (spec, torch.is_grad_enabled(), *[_signature(x) for x in flat])
        found = None if _UNKNOWN in key else cache.get(key)
        if found is None:
            flat_fn, cell = _flat_function(fn, spec)
            compiled = _compile(flat_fn, flat, fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions)
            found = (compiled, cell[0])
            if _UNKNOWN not in key:
                if len(cache) >= MOST_FORMS:
                    cache.pop(list(cache)[0], None)
                cache[key] = found
        compiled, out_spec = found
        if compiled.written and _overlaps(flat, compiled.written):
            return fn(*args, **kwargs)
        return pytree.tree_unflatten(compiled(flat), out_spec)
    return run


MOST_FORMS = 256      # of one function; then the oldest gives way
_UNKNOWN = object()   # stands for what cannot be compared later: such calls are traced each time


def _signature(x):
    if isinstance(x, torch.Tensor):
        return (x.shape, x.stride(), x.dtype, x.device, x.requires_grad)
    if isinstance(x, (float, complex)):
        return (type(x), repr(x))   # -0.0 is not 0.0
    try:
        hash(x)
        return (type(x), x)
    except TypeError:
        return _UNKNOWN


def aot_module(mod, *args, **kwargs):
    """A module whose call is compiled by `aot_function`; parameters and buffers are inputs of the graphs."""
    def functional_call(named_params, named_buffers, *args, **kwargs):
        return torch.func.functional_call(mod, {**named_params, **named_buffers}, args, kwargs)
    compiled = aot_function(functional_call, *args, **kwargs)

    class AOTModule(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.orig_module = mod

        def forward(self, *args, **kwargs):
            named_params = dict(self.orig_module.named_parameters(remove_duplicate=False))
            named_buffers = dict(self.orig_module.named_buffers(remove_duplicate=False))
            return compiled(named_params, named_buffers, *args, **kwargs)
    return AOTModule()


def aot_module_simplified(mod, args, fw_compiler, bw_compiler=None, partition_fn=default_partition, decompositions=None,
                          keep_inference_input_mutations=False, inference_compiler=None, cudagraphs=None, boxed_forward_device_index=None,
                          ignore_shape_env=False, disable_functionalization=False):
    """A function of the module's inputs, compiled at once for the shapes of `args`; the module gives a list or tuple.

    Parameters and buffers come first among the inputs of the graphs, and are read anew at each call.
    """
    state = {**dict(mod.named_parameters(remove_duplicate=False)), **dict(mod.named_buffers(remove_duplicate=False))}
    names = list(state)

    def flat(*flat_args):
        out = torch.func.functional_call(mod, dict(zip(names, flat_args[:len(names)])), tuple(flat_args[len(names):]))
        if not isinstance(out, (list, tuple)):
            raise RuntimeError("aot_module_simplified takes a module that gives a list or tuple of tensors; aot_module takes "
                               "any")
        return list(out)
    compiled = _compile(flat, [*state.values(), *args], fw_compiler, bw_compiler or fw_compiler, inference_compiler,
                        partition_fn, decompositions)

    def forward(*runtime_args):
        now = {**dict(mod.named_parameters(remove_duplicate=False)), **dict(mod.named_buffers(remove_duplicate=False))}
        inputs = [*[now[n] for n in names], *runtime_args]
        if compiled.written and _overlaps(inputs, compiled.written):
            return tuple(flat(*inputs))
        return tuple(compiled(inputs))
    forward.zero_grad = mod.zero_grad
    forward.named_parameters, forward.named_buffers = mod.named_parameters, mod.named_buffers
    return forward


def aot_export_joint_simple(func, args, *, trace_joint, num_params_buffers=0, decompositions=None):
    """The functional graph of `func(*args)`, of forward and backward together where `trace_joint`."""
    flat, spec = pytree.tree_flatten((tuple(args), {}))
    flat_fn, _ = _flat_function(func, spec)
    if trace_joint:
        gm, written, _ = _trace_joint(flat_fn, flat, decompositions)
    else:
        gm, written = _trace_flat(flat_fn, flat, decompositions)
    if written:
        raise RuntimeError(f"aot_export_joint_simple: the function writes to its inputs {sorted(written)}")
    return gm


def aot_export_module(mod, args, *, decompositions=None, trace_joint, output_loss_index=None, pre_dispatch=False,
                      dynamic_shapes=None, kwargs=None):
    """A graph of a module with its signature; torch.export makes these."""
    raise NotImplementedError("aot_export_module: torch.export is not there yet")
