"""Stored rows to Results: the one way from rows to numbers, for runs and for recomputation."""
