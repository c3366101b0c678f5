"""Switches of torch.fx."""

# Whether print_readable and traces say the file and line that a node comes from.
disable_progress = True
verbose_progress = False
do_not_emit_stack_traces = False
