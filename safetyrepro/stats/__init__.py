"""Estimators: arrays in, named results out; knows numpy and scipy, and no file, spec or model."""
