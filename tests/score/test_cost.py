"""What a run will cost, counted before anything runs."""

from __future__ import annotations

import subprocess
import sys

from safetyrepro.score.cost import ModelShape, ShardCost, compute_flop, memory_bytes, shard_cost

SHAPE = ModelShape(
    parameters=1_000, linear_parameters=600, layers=2, width=10, vocabulary=40, key_value_width=5,
    context_tokens=100,
)  # fmt: skip


def test_shared_prefixes_are_counted_once_and_unshared_work_beside_them() -> None:
    pairs = [((1, 2, 3, 4), 3), ((1, 2, 3, 5, 6), 3)]
    assert shard_cost(pairs, token_budget=64) == ShardCost(
        sequences=2, computed_tokens=4, distinct_tokens=6, unshared_tokens=9, scored_tokens=3, logit_rows=2,
        forward_passes=1, longest_tokens=5,
    )  # fmt: skip


def test_equal_sequences_cost_once_and_nothing_costs_nothing() -> None:
    one = ((1, 2, 3), 1)
    assert shard_cost([one, one], token_budget=64).computed_tokens == 2
    assert shard_cost([], token_budget=64).forward_passes == 0


def test_work_is_two_a_weight_and_token_and_the_head_only_where_scored() -> None:
    cost = shard_cost([((1, 2, 3, 4), 3), ((1, 2, 3, 5, 6), 3)], token_budget=64)
    assert compute_flop(cost, SHAPE) == 2 * 600 * 4 + 2 * 10 * 40 * 2


def test_memory_grows_with_the_budget_and_halves_with_the_precision_of_the_weights() -> None:
    small = memory_bytes(SHAPE, dtype="float32", token_budget=16, longest_tokens=10)
    assert memory_bytes(SHAPE, dtype="float32", token_budget=32, longest_tokens=10) > small
    assert memory_bytes(SHAPE, dtype="bfloat16", token_budget=16, longest_tokens=10) < small
    assert small > 4 * SHAPE.parameters


def test_the_scoring_floor_imports_without_torch_or_transformers() -> None:
    modules = ["rendering", "shard", "selfcheck", "cost", "likelihood", "packing", "local", "local.files"]
    code = "import sys\n" + "".join(f"import safetyrepro.score.{name}\n" for name in modules)
    code += (
        "print([name for name in ('torch', 'transformers', 'gguf', 'accelerate') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
