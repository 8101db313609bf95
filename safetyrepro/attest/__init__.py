"""Statements, signatures and trust: bytes in, bytes out; no network, no clock, no file but the key's own.

The times that matter (now, the day asked about, the day of signing) are always passed in.
"""
