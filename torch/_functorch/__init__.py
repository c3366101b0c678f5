"""Functions of functions over graphs: functional graphs, and forward and backward graphs ahead of time."""
