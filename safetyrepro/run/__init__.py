"""Specs to bundles: plan the passes, score their shards, keep what is done, analyse what was stored."""
