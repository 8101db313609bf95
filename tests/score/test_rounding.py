"""Round-to-nearest weights: on the grid, no further off than half a step, embeddings kept."""

from __future__ import annotations

import pytest
import torch
from tiny_models import tiny_model

from safetyrepro.errors import InputError
from safetyrepro.score.local.rounding import round_model, round_weights
from safetyrepro.spec.models import WeightRounding


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("group", [8, 32])
def test_a_weight_moves_by_at_most_half_a_step_and_takes_few_values(bits: int, group: int) -> None:
    torch.manual_seed(0)
    weight = torch.randn(6, 64)
    rounded = round_weights(weight, WeightRounding(bits=bits, group=group))
    groups, found = weight.reshape(6, -1, group), rounded.reshape(6, -1, group)
    steps = (groups.amax(-1) - groups.amin(-1)) / (2**bits - 1)
    assert ((groups - found).abs().amax(-1) <= steps / 2 + 1e-6).all()
    assert torch.allclose(found.amin(-1), groups.amin(-1), atol=1e-6)
    assert torch.allclose(found.amax(-1), groups.amax(-1), atol=1e-6)
    assert max(len(one.unique()) for row in found for one in row) <= 2**bits


def test_rounding_twice_is_rounding_once() -> None:
    torch.manual_seed(1)
    rounding = WeightRounding(bits=4, group=16)
    once = round_weights(torch.randn(4, 32), rounding)
    assert torch.allclose(round_weights(once, rounding), once, atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.75, -0.75])
def test_zero_stays_zero_and_a_constant_group_is_kept(value: float) -> None:
    weight = torch.full((2, 16), value)
    weight[0, 0] = 0.0
    rounded = round_weights(weight, WeightRounding(bits=3, group=8))
    assert torch.allclose(rounded, weight)
    assert rounded[0, 0] == 0.0


def test_more_bits_and_smaller_groups_are_closer() -> None:
    torch.manual_seed(2)
    weight = torch.randn(16, 64)

    def error(bits: int, group: int) -> float:
        return float(
            (round_weights(weight, WeightRounding(bits=bits, group=group)) - weight).square().mean()
        )

    assert error(8, 32) < error(4, 32) < error(3, 32)
    assert error(4, 8) < error(4, 64)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_linear_layers_are_rounded_and_embedding_and_head_kept(family: str) -> None:
    before, model = tiny_model(family).state_dict(), tiny_model(family)
    round_model(model, WeightRounding(bits=2, group=16))
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed
    assert all("proj" in name or "c_attn" in name or "c_fc" in name for name in changed)
    layers = [name for name, one in before.items() if one.ndim == 2 and ("proj" in name or ".c_" in name)]
    assert changed == {name for name in layers if name.endswith("weight")}


def test_a_convolution_is_grouped_along_its_input() -> None:
    """GPT-2 stores (in, out): rounding along the wrong axis would share scales between outputs."""
    model = tiny_model("gpt2")
    stored = model.state_dict()["transformer.h.0.mlp.c_fc.weight"].clone()
    rounding = WeightRounding(bits=3, group=32)
    round_model(model, rounding)
    assert torch.equal(
        model.state_dict()["transformer.h.0.mlp.c_fc.weight"], round_weights(stored.T, rounding).T
    )


def test_groups_must_divide_every_width() -> None:
    with pytest.raises(
        InputError, match=r"weights\.group: must divide every linear layer's input width; got 48"
    ):
        round_model(tiny_model(), WeightRounding(bits=4, group=48))


def test_experts_in_one_tensor_are_refused_rather_than_missed() -> None:
    with pytest.raises(InputError, match="must be in linear layers to be rounded"):
        round_model(tiny_model("mixtral"), WeightRounding(bits=4, group=32))
