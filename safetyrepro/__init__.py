"""safetyrepro: evaluation claims that carry their evidence."""

__version__ = "0.1.0"
