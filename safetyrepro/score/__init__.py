"""Log-likelihood of given text: rendering, packing, scoring; only `score.local` imports torch.

How a run uses this floor, once per (model, dtype, rounding) and then per frame and shard:

    from safetyrepro.score.local import load_backend     # inside the run: needs the extra `models`
    backend = load_backend(model.source, dtype=..., rounding=..., device=spec.device, base_dir=...)
    check = self_check(backend)                          # score.selfcheck: .path, .findings
    renderer = Renderer(backend.tokenizer, pass_.frame)  # score.rendering: .facts, .findings(where)
    key = shard_key(backend.identity, items, ...)        # score.shard: equal keys mean equal bits
    scores = score_shard(backend, items, renderer=renderer, pass_id=..., scorer=..., context=..., ...)
    scores.rows, scores.findings
    rule_score("mean", row)                              # score.likelihood

A shard is a pure function of (pass, items, token budget): same pack, same bits.
"""
