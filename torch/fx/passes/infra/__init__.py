"""Passes as objects, and running them in order."""
