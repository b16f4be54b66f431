"""The tiny hybrid's fast forward against Transformers' own, and its tokens."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

pytest.importorskip("transformers")

from sglang_v14.evals.tiny_hybrid import chats, fast_forward
from sglang_v14.evals.tiny_hybrid.batches import LENGTHS, batches
from sglang_v14.evals.tiny_hybrid.encoding import Encoder
from sglang_v14.evals.tiny_hybrid.export import MODEL
from sglang_v14.evals.tiny_hybrid.shape import VOCABULARY, config, initialise
from sglang_v14.evals.tiny_hybrid.template import render


@pytest.fixture(scope="module")
def model() -> Any:
    """Four layers, with what writes to the residual stream no longer at zero."""
    from transformers.models.qwen3_5 import Qwen3_5ForCausalLM

    made = Qwen3_5ForCausalLM(config(num_hidden_layers=4)).float().eval()
    draw = torch.Generator().manual_seed(0)
    initialise(made, draw)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if name.endswith(("o_proj.weight", "out_proj.weight", "down_proj.weight")):
                parameter.normal_(std=0.07, generator=draw)
    return made


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (3, 192), generator=torch.Generator().manual_seed(1))


def test_logits_are_those_of_transformers(model: Any, tokens: torch.Tensor) -> None:
    """Over three chunks, at several places."""
    with torch.no_grad():
        expected = model(tokens).logits
        for at in ([191, 70, 3], [64, 63, 128]):
            got = fast_forward.logits_at(model, tokens, torch.tensor(at), torch.float32)
            torch.testing.assert_close(got, expected[torch.arange(3), at], atol=1e-4, rtol=1e-4)


def test_loss_and_gradients_are_those_of_transformers(model: Any, tokens: torch.Tensor) -> None:
    """With every token counting, and with some that do not count."""
    weight = torch.ones(tokens.shape)
    model.zero_grad()
    fast_forward.loss(model, tokens, weight, torch.float32).backward()
    fast = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    logits = model(tokens).logits
    cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()).backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(fast[name], parameter.grad, atol=1e-4, rtol=1e-2)
    weight[:, 100:] = 0.0
    with torch.no_grad():
        got = fast_forward.loss(model, tokens, weight, torch.float32)
        expected = cross_entropy(logits[:, :99].flatten(0, 1), tokens[:, 1:100].flatten())
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


def test_tokens_of_a_chat_are_those_of_its_text() -> None:
    """Frame and content encoded apart give what the whole text gives; only what was said counts."""
    encoder, rng = Encoder.of(MODEL), random.Random(5)
    samples = [chats.training_chat(rng) for _ in range(60)]
    for sample, (ids, weights) in zip(samples, encoder.encode([s.messages for s in samples]), strict=True):
        assert ids == encoder.tokenizer.encode(render(sample.messages, default_system=False)).ids
        assert len(ids) == len(weights) and set(weights) <= {0.0, 0.25, 1.0}
    ((ids, weights),) = encoder.encode(
        [[{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]]
    )
    answer = [token for token, weight in zip(ids, weights, strict=True) if weight == 1.0]
    assert encoder.tokenizer.decode(answer, skip_special_tokens=False) == "Hi.<|im_end|>"


def test_batches() -> None:
    """Rows of one length, padded, each a chat from its beginning."""
    encoder = Encoder.of(MODEL)
    start = encoder.tokenizer.token_to_id("<|im_start|>")
    made = batches(MODEL, 1, 2560)
    for _ in range(5):
        batch = next(made)
        rows, length = batch.tokens.shape
        assert length in LENGTHS and rows == 2560 // length and batch.weights.shape == batch.tokens.shape
        assert (batch.tokens[:, 0] == start).all() and batch.weights.max() == 1.0
        assert not batch.weights[batch.tokens == encoder.pad].any()
