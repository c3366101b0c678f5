"""Settings of torch.compile. `patch` changes them within a with block or a decorated function.

Those of the second part are for programs that set them; results are the same with any value.
"""
import sys

from torch._settings import Settings

recompile_limit = 8                   # graphs of one compiled function
accumulated_recompile_limit = 256     # graphs of one code object, in all functions that have it
fail_on_recompile_limit_hit = False   # an error instead of running as it is
error_on_recompile = False
suppress_errors = False               # a back end that raises leaves the graph as it is, with one warning
disable = False
dynamic_shapes = True                 # False: sizes are always guarded
automatic_dynamic_shapes = True       # from the second graph on sizes are left out of the guards where nothing reads them
assume_static_by_default = True       # False: from the first graph on
verbose = False                       # warnings show where the compiler was

capture_scalar_outputs = False        # .item() ends a graph either way
capture_dynamic_output_shape_ops = False
capture_func_transforms = True
specialize_int = False                # ints are always part of the guards until they change
specialize_float = False
allow_rnn = False
allow_unspec_int_on_nn_module = False
force_parameter_static_shapes = True
force_nn_module_property_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
skip_nnmodule_hook_guards = True
enable_cpp_guard_manager = True
error_on_nested_fx_trace = True
optimize_ddp = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
report_guard_failures = True
do_not_emit_runtime_asserts = False
prefer_deferred_runtime_asserts_over_guards = False
use_graph_deduplication = False
only_allow_pt2_compliant_ops = False
trace_numpy = True
log_file_name = None
compiled_autograd = False             # has no other value
nested_graph_breaks = False
caching_precompile = False

_same = {"cache_size_limit": "recompile_limit", "accumulated_cache_size_limit": "accumulated_recompile_limit"}
_refused = {"compiled_autograd": False, "nested_graph_breaks": False, "caching_precompile": False}

sys.modules[__name__].__class__ = Settings
