"""Tracing to operators, and passes that may still change."""
