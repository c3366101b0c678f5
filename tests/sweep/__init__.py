"""The test sweep: one record per operator, every check derived from it."""
