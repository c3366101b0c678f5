"""Settings of torch._inductor: `config.max_autotune = True`, `config.patch({"triton.cudagraphs": True})`, and the options of
torch.compile(options={...}).

force_disable_caches and fx_graph_cache say whether machine code is kept on disk and taken from there. The others are for programs
that set them: there is one way to make a kernel here, its bits are those of the eager operators, and results are the same with
any value. What would change results or run code of one's own has one value, and raises NotImplementedError for another.
"""
import os
import sys

from torch import _C
from torch._settings import Group, Settings

force_disable_caches = os.environ.get("TORCHINDUCTOR_FORCE_DISABLE_CACHES") == "1"
fx_graph_cache = True

debug = False
dce = False
freezing = False
cpp_wrapper = False
fallback_random = False               # random numbers are those of eager mode in any case
emulate_precision_casts = False       # half types are rounded after every operator in any case
max_autotune = False
max_autotune_gemm = False
max_autotune_pointwise = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
autotune_in_subproc = False
autotune_local_cache = True
search_autotune_cache = False
benchmark_kernel = False
coordinate_descent_tuning = False
coordinate_descent_check_all_directions = False
epilogue_fusion = True
prologue_fusion = True
aggressive_fusion = False
permute_fusion = False
group_fusion = False
batch_fusion = True
combo_kernels = False
max_fusion_size = 64
pattern_matcher = True
shape_padding = True
layout_optimization = True
keep_output_stride = True
conv_1x1_as_mm = False
force_fuse_int_mm_with_mul = False
use_mixed_mm = True
mixed_mm_choice = "heuristic"
split_reductions = True
unroll_reductions_threshold = 8
realize_reads_threshold = 4
decompose_mem_bound_mm = False
allow_buffer_reuse = True
inplace_buffers = True
reorder_for_peak_memory = True
reorder_for_compute_comm_overlap = False
graph_partition = True
implicit_fallbacks = True
size_asserts = True
nan_asserts = False
assert_indirect_indexing = True
comment_origin = False
profiler_mark_wrapper_call = False
verbose_progress = False
disable_progress = True
compile_threads = 2
worker_start_method = "subprocess"
cpu_backend = "cpp"
cuda_backend = "triton"
fx_graph_remote_cache = None
bundled_autotune_remote_cache = None
_micro_pipeline_tp = False
pre_grad_custom_pass = None
joint_custom_pre_pass = None
joint_custom_post_pass = None
post_grad_custom_pre_pass = None
post_grad_custom_post_pass = None
custom_partitioner_fn = None

triton = Group("torch._inductor.config.triton", cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True, debug_sync_kernel=False,
               debug_sync_graph=False, autotune_pointwise=True, dense_indexing=False, persistent_reductions=True, cooperative_reductions=False,
               multi_kernel=0, max_tiles=None, prefer_nd_tiling=False, divisible_by_16=True, store_cubin=False)
cpp = Group("torch._inductor.config.cpp", threads=-1, simdlen=None, weight_prepack=True, enable_concat_linear=False, enable_kernel_profile=False,
            fallback_scatter_reduce_sum=True)
trace = Group("torch._inductor.config.trace", enabled=False, graph_diagram=False)
aten_distributed_optimizations = Group("torch._inductor.config.aten_distributed_optimizations", collective_bucketing=None, insert_overlap_deps=None)
eager_numerics = Group("torch._inductor.config.eager_numerics", division_rounding=False)


def _keep_on_disk(disabled, kept):
    _C._compile_on_disk(bool(kept and not disabled))


_same = {}
_told = {"force_disable_caches": lambda v: _keep_on_disk(v, fx_graph_cache), "fx_graph_cache": lambda v: _keep_on_disk(force_disable_caches, v)}
_refused = {name: None for name in ("pre_grad_custom_pass", "joint_custom_pre_pass", "joint_custom_post_pass", "post_grad_custom_pre_pass",
                                    "post_grad_custom_post_pass", "custom_partitioner_fn")}

sys.modules[__name__].__class__ = Settings
