"""What the compiler follows in no case of its record, with the reason: operators, their in-place ("add_") and out= ("add.out")
forms, and gradients ("add backward"). Graphs with such a call run as they are, and give what plain code gives."""

_REASONS = {
    "the shape of what it gives hangs on elements":
        "nonzero nonzero_numpy argwhere masked_select _masked_take masked_scatter_backward one_hot bincount _unique _unique2 "
        "unique_consecutive unique_dim unique_dim_consecutive _pack_padded_sequence _pad_packed_sequence",
    "its kernel makes its results, and no rule gives their shapes without elements":
        "nonzero_static histc histogram _histogramdd_bin_edges _histogramdd_from_bin_cts _histogramdd_from_bin_tensors "
        "_pack_padded_sequence_backward _pad_packed_sequence_to",
    "gives a plain value":
        "item _local_scalar_dense _has_nan allclose equal is_same_size is_set_to is_complex is_conj is_floating_point is_neg is_signed "
        "_fused_sdp_choice",
    "reads its elements, to refuse some of them":
        "binary_cross_entropy embedding_renorm_",
    "changes what a tensor is, rather than what it holds":
        "set_ resize_as_",
    "writes to several arguments, or gives more than it writes, and has no form that gives it all":
        "_amp_foreach_non_finite_check_and_unscale_ _fused_adam_ _fused_adamw_ _fused_sgd_",
    "draws without a tensor among its arguments: graphs that do so run as they are":
        "rand randn randint randperm _randperm_",
    "a constant, which who gets it may write to: it is made anew in every call":
        "zeros ones full eye scalar_tensor empty empty_strided empty_permuted",
    "a write after a read of the same memory, in its own code":
        "gather_backward affine_grid_generator_backward",
}
NOT_FOLLOWED = {name: reason for reason, names in _REASONS.items() for name in names.split()}
NOT_FOLLOWED |= {f"{name}.out": NOT_FOLLOWED[name] for name in "nonzero nonzero_static masked_select histc histogram binary_cross_entropy".split()}
NOT_FOLLOWED |= {f"{name} backward": reason for name, reason in {
    "masked_scatter": "a shape in it hangs on elements", "_pack_padded_sequence": "a shape in it hangs on elements",
    "trace": "its code writes to a view of what it makes",
    "lift_fresh": "gives its argument", "lift_fresh_copy": "gives a copy without history",
}.items()}
