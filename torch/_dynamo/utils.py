"""Counts of what the compiler did, as the reference names them."""
import collections

counters = collections.defaultdict(collections.Counter)
