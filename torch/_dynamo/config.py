"""Settings of torch.compile. `patch` changes them within a with block or a decorated function."""
import contextlib
import sys
import types

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

_same = {"cache_size_limit": "recompile_limit", "accumulated_cache_size_limit": "accumulated_recompile_limit"}


# Settings of PyTorch whose effect is not there.
_elsewhere = frozenset("""specialize_int specialize_float capture_scalar_outputs capture_dynamic_output_shape_ops guard_nn_modules
    inline_inbuilt_nn_modules allow_rnn optimize_ddp log_file_name force_parameter_static_shapes allow_ignore_mark_dynamic
    capture_func_transforms compiled_autograd cudagraph_backend_keep_input_mutation do_not_emit_runtime_asserts
    dont_skip_tracing enable_cpp_guard_manager enable_faithful_generator_behavior error_on_nested_fx_trace
    error_on_nested_jit_trace force_unspec_int_unbacked_size_like_on_torchrec_kjt minimum_call_count nested_graph_breaks numpy_default_float
    raise_on_ctx_manager_usage repro_after repro_level reorderable_logging_functions replay_record_enabled report_guard_failures
    rewrite_assert_with_torch_assert run_gc_after_compile skip_fsdp_guards skip_nnmodule_hook_guards skip_torchrec trace_numpy
    traceable_tensor_subclasses track_nodes_for_deduplication use_graph_deduplication use_lazy_graph_module
    skip_code_recursive_on_recompile_limit_hit allow_unspec_int_on_nn_module only_allow_pt2_compliant_ops prefer_deferred_runtime_asserts_over_guards
    base_dir debug_dir_root constant_functions cprofile fake_tensor_cache_enabled""".split())


def _unknown(name):
    from torch import _absent
    if name in _elsewhere:
        return _absent.NotThereYet(f"torch._dynamo.config.{name} is not there yet")
    return AttributeError(f"torch._dynamo.config has no setting {name!r}")


class _Settings(types.ModuleType):
    def __getattr__(self, name):
        if name in _same:
            return getattr(self, _same[name])
        raise _unknown(name)

    def __setattr__(self, name, value):
        name = _same.get(name, name)
        if name not in vars(self) and not name.startswith("__"):
            raise _unknown(name)
        super().__setattr__(name, value)

    def patch(self, changes=None, value=None, **more):
        """patch("name", value), patch({...}) or patch(name=value): the settings are so within the block."""
        if isinstance(changes, str):
            changes = {changes: value}
        changes = {**(changes or {}), **more}

        @contextlib.contextmanager
        def within():
            before = {k: getattr(self, k) for k in changes}
            for k, v in changes.items():
                setattr(self, k, v)
            try:
                yield
            finally:
                for k, v in before.items():
                    setattr(self, k, v)
        return within()


sys.modules[__name__].__class__ = _Settings
