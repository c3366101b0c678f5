"""What programs ask of the package beside kernels: compile, knobs, tools, types by name, and the shapes of squeeze and its kin."""
import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def scale_kernel(x, out, n, s, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) * s, mask=i < n)


def test_compile_of_a_signature():
    source = triton.compiler.ASTSource(scale_kernel, {"x": "*fp32", "out": "*fp32", "n": "i32", "s": "fp32", "B": "constexpr"}, {"B": 16})
    kernel = triton.compile(source)
    x, out = torch.randn(40), torch.zeros(40)
    kernel[(3,)](x, out, 40, 2.5)
    assert torch.equal(out, x * 2.5)
    assert "program_id" in kernel.asm["ttir"]
    with pytest.raises(TypeError, match="float64"):
        kernel[(3,)](x.double(), out, 40, 2.5)
    by_number = triton.compile(triton.compiler.ASTSource(scale_kernel, {"x": "*fp16", "out": "*fp16", "n": "i64", "s": "fp32"}, {(4,): 8}), target=triton.runtime.driver.active.get_current_target())
    h, out = torch.randn(8).half(), torch.zeros(8).half()
    by_number[(1,)](h, out, 2 ** 33, 2.0)
    assert torch.equal(out, h * 2)


@pytest.mark.parametrize("signature, constants, error, text", [
    ({"x": "*fp32", "out": "*fp32", "n": "i8", "s": "fp32"}, {"B": 8}, NotImplementedError, "n has type 'i8'"),
    ({"x": "*fp32", "out": "*fp8e5", "n": "i32", "s": "fp32"}, {"B": 8}, NotImplementedError, "out has type '\\*fp8e5'"),
    ({"x": "*fp32", "out": "*fp32", "n": "i32", "s": "fp32"}, {}, ValueError, "neither a type nor a value of B"),
    ({"x": "*fp32", "y": "*fp32"}, {}, ValueError, "the signature of ASTSource has 'y'"),
])
def test_signatures_that_do_not_fit(signature, constants, error, text):
    with pytest.raises(error, match=text):
        triton.compile(triton.compiler.ASTSource(scale_kernel, signature, constants))


def test_compile_for_another_target():
    source = triton.compiler.ASTSource(scale_kernel, {"x": "*fp32", "out": "*fp32", "n": "i32", "s": "fp32"}, {"B": 8})
    with pytest.raises(NotImplementedError, match="cuda"):
        triton.compile(source, target="cuda")
    with pytest.raises(TypeError, match="ASTSource"):
        triton.compile("kernel.ttir")


def test_knobs_are_variables_until_they_are_assigned(monkeypatch):
    knobs = triton.knobs
    assert knobs.runtime.interpret is False
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert knobs.runtime.interpret is True
    with knobs.runtime.scope():
        knobs.runtime.interpret = False
        assert knobs.runtime.interpret is False
    assert knobs.runtime.interpret is True
    monkeypatch.delenv("TRITON_INTERPRET")
    assert knobs.runtime.knobs == {"interpret": False, "debug": False}
    with pytest.raises(TypeError, match="knobs.runtime.debug is True or False, not 3"):
        knobs.runtime.debug = 3
    with pytest.raises(NotImplementedError, match="knobs.runtime.jit_cache_hook"):
        knobs.runtime.jit_cache_hook = print
    with pytest.raises(AttributeError, match="no setting 'speed'"):
        knobs.runtime.speed
    with pytest.raises(NotImplementedError, match="triton.knobs.nvidia"):
        triton.knobs.nvidia


factor = 3


@triton.jit
def global_kernel(out):
    tl.store(out, factor)


def test_knob_for_global_numbers():
    out = torch.zeros(1)
    with pytest.raises(triton.CompilationError, match="global 'factor'"):
        global_kernel[(1,)](out)
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.allow_non_constexpr_globals = True
        global_kernel[(1,)](out)
    assert out.item() == 3


def test_knob_for_errors_of_the_front_end():
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.front_end_debugging = True
        with pytest.raises(NameError):
            unknown_kernel[(1,)](torch.zeros(1))


@triton.jit
def unknown_kernel(out):
    tl.store(out, what_is_this)   # noqa: F821


@triton.jit
def copy_kernel(source, target, ROWS: tl.constexpr):
    r = tl.program_id(0) * ROWS
    target.store([r, 0], source.load([r, 0]) * 2)


def test_descriptors_from_the_host():
    x, out = torch.randn(10, 6), torch.zeros(10, 6)
    a, b = TensorDescriptor.from_tensor(x, [4, 8]), TensorDescriptor(out, [7, 6], [6, 1], [4, 8])
    copy_kernel[(3,)](a, b, 4)
    assert torch.equal(out[:7], 2 * x[:7]) and not out[7:].any()
    a.block_shape = b.block_shape = [2, 8]
    out.zero_()
    copy_kernel[(5,)](a, b, 2)
    assert torch.equal(out[:7], 2 * x[:7]) and not out[7:].any()
    with pytest.raises(ValueError, match=r"strides \[1\]"):
        TensorDescriptor(x, [10, 6], [1], [4, 8])
    with pytest.raises(NotImplementedError, match="padding='nan'"):
        TensorDescriptor(x, [10, 6], [6, 1], [4, 8], padding="nan")


@triton.jit
def shapes_kernel(x, out):
    v = tl.load(x + tl.arange(0, 8))
    a = tl.unsqueeze(v, 0)
    tl.static_assert(a.shape == (1, 8))
    b = tl.unsqueeze(a, -1)
    tl.static_assert(b.shape == (1, 8, 1))
    c = tl.squeeze(tl.squeeze(b, 0), -1)
    tl.static_assert(c.shape == (8,))
    tl.store(out + tl.arange(0, 8), c)
    tl.store(out + 8, tl.squeeze(tl.reshape(tl.sum(v), [1]), 0))


@triton.jit
def wrong_shape_kernel(x):
    tl.store(x, tl.squeeze(tl.arange(0, 8), 0))


def test_squeeze_and_unsqueeze():
    x, out = torch.arange(8.0), torch.zeros(9)
    shapes_kernel[(1,)](x, out)
    assert out.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 28]
    with pytest.raises(triton.CompilationError, match=r"dimension 0 of a tensor of shape \[8\] has size 8, not 1"):
        wrong_shape_kernel[(1,)](x)


@triton.jit
def bounded(x, low):
    return tl.maximum(x, low), x * 2


@triton.jit
def elementwise_kernel(x, out):
    i = tl.arange(0, 8)
    a, b = tl.map_elementwise(bounded, tl.load(x + i), 0.5)
    tl.store(out + i, a)
    tl.store(out + 8 + i, b)


def test_map_elementwise():
    x, out = torch.randn(8), torch.zeros(16)
    elementwise_kernel[(1,)](x, out)
    assert torch.equal(out, torch.cat([x.clamp(min=0.5), x * 2]))


def test_types_by_name():
    assert str(tl.str_to_ty("*fp32", None)) == "pointer<fp32>" and tl.str_to_ty("i32", None) == tl.int32
    assert str(tl.str_to_ty("*ku8", None)) == "const_pointer<uint8>" and str(tl.str_to_ty(("i32", "*fp16"), None)) == "[int32,pointer<fp16>]"
    assert tl.str_to_ty("constexpr", 3) == tl.constexpr_type(3)
    names = [tl.float32.mangle(), tl.pointer_type(tl.int8).mangle(), tl.uint8.mangle(), tl.block_type(tl.int32, [4, 2]).mangle(), tl.float32.codegen_name(), tl.bfloat16.mangle()]
    assert names == ["fp32", "Pi8", "u8", "i32S4_2S", "float32", "bf16"]


def test_target_and_what_is_not_there():
    assert tl.target_info.current_target().backend == "cpu"
    assert not tl.target_info.is_cuda() and not tl.target_info.is_hip() and not tl.target_info.cuda_capability_geq(8, 0)
    for name in ("aggregate", "backends"):
        with pytest.raises(NotImplementedError, match=f"triton.{name}"):
            getattr(triton, name)
    with pytest.raises(NotImplementedError, match="triton.tools.mxfp"):
        triton.tools.mxfp
    for module, name in ((triton.testing, "get_dram_gbps"), (triton.compiler, "make_backend"), (triton.runtime, "cache"), (tl, "aggregate_replace")):
        with pytest.raises(NotImplementedError, match=f"{module.__name__}.{name} is not there"):
            getattr(module, name)
        assert not hasattr(module, "no_such_name")
    with pytest.raises(NotImplementedError, match="IRSource"):
        triton.compiler.IRSource("kernel.ttir")
    assert issubclass(triton.CompilationError, triton.errors.TritonError)
