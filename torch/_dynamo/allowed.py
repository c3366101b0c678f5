"""What a compiled function may call, and what of it becomes a node of the graph.

Operators of torch, in C or in Python, become nodes whole: a node runs the very function again, so whatever it does is
done in every call. Left out is what gives values of data to Python, has a shape that depends on data, or changes what a
tensor is rather than what it holds: the graph stands for one run only if Python cannot see data.
"""
import builtins
import functools
import math
import operator
import sys
import types

import torch

CONSTANT_TYPES = frozenset({int, float, bool, complex, str, bytes, type(None), type(Ellipsis), torch.dtype, torch.device,
                            torch.layout, torch.memory_format, torch.Size, range, type(NotImplemented)})

# Attributes and methods that say what a tensor is. Those of the second set tell of its shape.
TENSOR_FACTS = frozenset("""dtype device layout requires_grad is_cuda is_cpu is_meta is_sparse is_quantized is_nested
    is_mkldnn is_mps is_xla is_xpu is_sparse_csr itemsize ndim dim ndimension element_size is_floating_point is_complex
    is_signed get_device is_sparse_csc""".split())
TENSOR_SHAPE_FACTS = frozenset("shape size numel nelement stride is_contiguous nbytes __len__ is_same_size".split())
TENSOR_PARTS = frozenset("T mT H mH real imag".split())

# Of these the value of the result comes from data, or they reach into a tensor's being. Where the shape comes from data, the
# cards say so; unique is a function of Python over such a card.
_UNSAFE = frozenset("""item tolist numpy __bool__ __int__ __float__ __index__ __complex__ __contains__ __iter__ __array__
    __dlpack__ __dlpack_device__ __array_wrap__ __hash__ __repr__ __str__ __format__ __deepcopy__ __reduce__ __reduce_ex__
    __setstate__ __dir__ data_ptr storage untyped_storage _typed_storage storage_type set_ resize_ resize_as_ resize_as_sparse_
    requires_grad_ detach_ retain_grad register_hook register_post_accumulate_grad_hook backward share_memory_ is_shared pin_memory
    is_pinned is_set_to is_nonzero allclose equal unique combinations segment_reduce histogramdd histogram lstsq rename_ rename names names_
    align_to refine_names _version grad grad_fn is_leaf data name output_nr retains_grad volatile storage_offset
    as_strided_ sparse_resize_ swap_tensors to_sparse to_dense coalesce is_coalesced indices values _indices _values crow_indices
    col_indices map_ map2_ apply_ reinforce new_tensor __cuda_array_interface__ type module_load _make_subclass
    __setattr__ __delattr__ __setitem__ __torch_function__ matrix_rank grad_dtype is_conj is_neg is_inference choose_qparams_optimized
    gradient trapz_ ormqr_ pack_padded_sequence pad_packed_sequence to_padded_tensor nested_to_padded_tensor
    _assert_async is_distributed multilabel_margin_loss_ save load seed manual_seed set_rng_state ctc_loss""".split())

_FACTORIES = ("zeros ones empty full rand randn randint arange eye linspace logspace tensor as_tensor scalar_tensor zeros_like "
              "ones_like empty_like full_like rand_like randn_like randint_like randperm tril_indices triu_indices normal "
              "hann_window hamming_window blackman_window bartlett_window kaiser_window asarray complex polar heaviside "
              "empty_strided").split()
# Of these a tensor among the arguments decides the shape.
_SHAPE_MAKERS = frozenset("zeros ones empty full rand randn randint arange eye linspace logspace randperm tril_indices triu_indices "
                          "empty_strided range".split())
# Of these a tensor after the first argument does.
_SIZE_TAKERS = frozenset("""view reshape expand repeat tile narrow narrow_copy split split_with_sizes chunk unsafe_split
    unsafe_split_with_sizes unsafe_chunk split_copy split_with_sizes_copy hsplit vsplit dsplit unflatten new_zeros new_ones new_empty
    new_empty_strided new topk unfold unfold_copy flatten squeeze diag diagonal diag_embed diagonal_copy broadcast_to interpolate
    upsample upsample_bilinear upsample_nearest pad constant_pad_nd adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
    adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d fold as_strided as_strided_copy permute permute_copy transpose
    movedim moveaxis sum_to_size tensordot rot90 stft istft multinomial nonzero_static select slice_copy unbind sum mean prod amax amin argmax argmin var std logsumexp norm""".split())
# Of constants these give the same in every call.
FIXED_MAKERS = frozenset("zeros ones full eye arange linspace logspace tensor scalar_tensor tril_indices triu_indices".split())
RANDOM_WITHOUT_INPUT = frozenset("rand randn randint randperm normal".split())


def plain_tensor_type(t):
    """Whether t is Tensor, Parameter or Buffer. What is not loaded is no type of anything."""
    return t is torch.Tensor or t.__module__ == "torch.nn.parameter" and t.__name__ in ("Parameter", "Buffer")


def is_module(x):
    """Whether x is an nn.Module."""
    home = sys.modules.get("torch.nn.modules.module")
    return home is not None and isinstance(x, home.Module)


_names = {}   # function: its name as an operator, or None


def operator_name(f):
    """The name of f if it is an operator of torch, else None. TypeError where f cannot be hashed."""
    if f in _names:
        return _names[f]
    name = _operator_name(f)
    if name is not None:   # functions of users and modules are not kept alive
        _names[f] = name
    return name


opaque = set()   # functions that users made operators: nothing is known of them


def allow(f):
    """Makes f an operator."""
    _names[f] = f.__name__
    opaque.add(f)


def refuse(f):
    """Makes f no operator."""
    _names[f] = None


_SPACES = ("torch.nn.functional", "torch.functional", "torch.linalg", "torch.fft", "torch.special")


def _operator_name(f):
    name, core = getattr(f, "__name__", None) or "_", torch._C
    if name[0] == "_" or is_unsafe(name) or isinstance(f, type):
        return None
    if (name in _FACTORIES or name in TENSOR_FACTS) and vars(torch).get(name) is f:
        return name
    if isinstance(f, types.FunctionType):
        spaces = (torch.Tensor, *(sys.modules[m] for m in _SPACES if m in sys.modules))
        return name if "torch_function" not in name and any(vars(s).get(name) is f for s in spaces) else None
    spaces = (core._VariableFunctions, core._nn, core._linalg, core._fft, core._special, core.TensorBase)
    return name if any(vars(s).get(name) is f for s in spaces) else None


@functools.lru_cache(4096)   # names come from programs
def is_unsafe(name):
    """Whether values of data come out of such a call: as numbers, or as the shape of its result."""
    if name == "where":  # one of its two overloads; decides_shape() asks which
        return False
    return name in _UNSAFE or any(torch._C._op_info(name if o == "default" else f"{name}.{o}")["dynamic_shape"]
                                  for o in torch._C._op_overloads(name) or ())


def decides_shape(name, args, kwargs):
    """Whether the shape of name(*args) comes from the values of a tensor."""
    def tensors(x):
        if isinstance(x, torch.Tensor):
            return True
        if isinstance(x, slice):
            return tensors((x.start, x.stop, x.step))
        return type(x) in (tuple, list) and any(tensors(i) for i in x)
    if name in _SHAPE_MAKERS:
        return any(map(tensors, args)) or any(map(tensors, kwargs.values()))
    if name in _SIZE_TAKERS:
        return any(map(tensors, args[1:])) or any(tensors(v) for k, v in kwargs.items() if k not in ("input", "self", "out"))
    if name == "where":
        return len(args) + len(kwargs) == 1
    if name == "getitem":
        return _reads_index(args[1])
    return False


def _reads_index(index):
    if isinstance(index, torch.Tensor):
        return index.dtype in (torch.bool, torch.uint8)
    if isinstance(index, slice):
        return any(isinstance(i, torch.Tensor) for i in (index.start, index.stop, index.step))
    return type(index) in (tuple, list) and any(map(_reads_index, index))


# Functions of Python that only compute: on constants and containers of this run they are called as they are.
PURE = frozenset([getattr(builtins, n) for n in (
    "abs all any bool bytes chr complex dict divmod enumerate filter float frozenset int len list max min ord pow range reversed "
    "round set slice sorted str sum tuple zip".split())] +
    [f for n, f in vars(math).items() if callable(f)] +
    [torch.Size, torch.device, torch.finfo, torch.iinfo, torch.promote_types, torch.can_cast])
OPERATOR_FUNCTIONS = frozenset(f for n, f in vars(operator).items() if callable(f) and n[0] != "_" and not isinstance(f, type))
# Methods of containers that leave them as they are.
READING = frozenset("keys values items get index count copy union intersection difference issubset issuperset isdisjoint "
                    "__len__ __getitem__ __contains__ __iter__".split())
# Those that a container made in this run may have called on itself.
WRITING = frozenset("append extend insert pop popitem remove clear reverse update setdefault add discard move_to_end".split())
LOCAL_TYPES = frozenset({list, tuple, dict, set, frozenset, slice, __import__("collections").OrderedDict})
