"""A forward of the tiny hybrid that trains fast: the same numbers as Transformers' own, from the same parameters.

Everything that works token by token runs over all tokens of a batch at once, in the same shape whatever the length of
its rows, so that it is compiled once. The Gated DeltaNet is computed in chunks (arXiv 2412.06464, section 3.3): within
all chunks at once, then from chunk to chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

CHUNK = 64
_compiled: dict[str, Callable[..., Any]] = {}


def compile_parts() -> None:
    """Compile the parts that work token by token, or chunk by chunk, from now on."""
    for part in (
        _recurrent_inputs,
        _chunked,
        _inverse,
        _recurrent_outputs,
        _attention_inputs,
        _attention_outputs,
        _loss,
    ):
        _compiled[part.__name__] = torch.compile(part, dynamic=False)


def _run(part: Callable[..., Any], *arguments: Any) -> Any:
    return _compiled.get(part.__name__, part)(*arguments)


def hidden_states(model: Any, tokens: Tensor, dtype: torch.dtype) -> Tensor:
    """The last layer's normalised output `[rows * length, hidden]` for `tokens` `[rows, length]`; a length must be a
    multiple of `CHUNK`. Products are computed in `dtype`."""
    rows, length = tokens.shape
    text = model.model
    position = torch.arange(length, device=tokens.device).repeat(rows)
    x = functional.embedding(tokens.flatten(), text.embed_tokens.weight)
    cos, sin = _rotation(model.config, position)
    for layer in text.layers:
        mlp = (layer.post_attention_layernorm.weight, layer.mlp.gate_proj.weight, layer.mlp.up_proj.weight)
        mlp = (*mlp, layer.mlp.down_proj.weight)
        if hasattr(layer, "linear_attn"):
            part = layer.linear_attn
            weights = (part.in_proj_qkv.weight, part.in_proj_z.weight, part.in_proj_b.weight, part.in_proj_a.weight)
            decay = (part.A_log, part.dt_bias)
            heads = (part.num_k_heads, part.num_v_heads, part.head_k_dim, part.head_v_dim)
            q, k, v, z, beta, g = _run(
                _recurrent_inputs, x, layer.input_layernorm.weight, weights, part.conv1d.weight, decay, position, heads,
                dtype,
            )  # fmt: skip
            o = _gated_delta_rule(q, k, v, g, beta, rows)
            x = _run(_recurrent_outputs, x, o, z, part.norm.weight, part.out_proj.weight, mlp, dtype)
        else:
            attn = layer.self_attn
            weights = (attn.q_proj.weight, attn.k_proj.weight, attn.v_proj.weight)
            q, k, v, gate = _run(
                _attention_inputs, x, layer.input_layernorm.weight, weights, attn.q_norm.weight, attn.k_norm.weight,
                cos, sin, attn.head_dim, dtype,
            )  # fmt: skip
            q, k, v = (t.view(rows, length, -1, attn.head_dim).transpose(1, 2) for t in (q, k, v))
            o = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            o = o.transpose(1, 2).reshape(rows * length, -1)
            x = _run(_attention_outputs, x, o, gate, attn.o_proj.weight, mlp, dtype)
    return _norm(x, text.norm.weight)


def loss(model: Any, tokens: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    """The mean cross-entropy of every next token, token t+1 counting with `weight[:, t + 1]`."""
    hidden = hidden_states(model, tokens, dtype)
    targets = functional.pad(tokens[:, 1:], (0, 1)).flatten()
    counting = functional.pad(weight[:, 1:], (0, 1)).flatten()
    return _run(_loss, hidden, model.model.embed_tokens.weight, targets, counting, dtype)


def logits_at(model: Any, tokens: Tensor, at: Tensor, dtype: torch.dtype) -> Tensor:
    """The next token's logits `[rows, vocabulary]` behind token `at[row]` of every row."""
    hidden = hidden_states(model, tokens, dtype).view(*tokens.shape, -1)
    return hidden[torch.arange(len(at), device=at.device), at].float() @ model.model.embed_tokens.weight.float().T


def _norm(x: Tensor, weight: Tensor) -> Tensor:
    x = x.float()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (1.0 + weight)


def _linear(x: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    return functional.linear(x.to(dtype), weight.to(dtype))


def _mlp(x: Tensor, mlp: tuple[Tensor, ...], dtype: torch.dtype) -> Tensor:
    norm, gate, up, down = mlp
    y = _norm(x, norm)
    y = functional.silu(_linear(y, gate, dtype)) * _linear(y, up, dtype)
    return x + _linear(y, down, dtype)


def _recurrent_inputs(
    x: Tensor,
    norm: Tensor,
    weights: tuple[Tensor, ...],
    conv: Tensor,
    decay: tuple[Tensor, Tensor],
    position: Tensor,
    heads: tuple[int, int, int, int],
    dtype: torch.dtype,
) -> tuple[Tensor, ...]:
    key_heads, value_heads, key_dim, value_dim = heads
    y = _norm(x, norm)
    qkv, z, b, a = (_linear(y, weight, dtype) for weight in weights)
    taps = conv.squeeze(1).to(qkv.dtype)
    mixed = qkv * taps[:, -1]
    for back in range(1, taps.shape[1]):
        # The neighbour in the batch may belong to the row before.
        shifted = functional.pad(qkv, (0, 0, back, 0))[: len(qkv)] * (position >= back).unsqueeze(1)
        mixed = mixed + shifted * taps[:, -1 - back]
    mixed = functional.silu(mixed).float()
    q, k, v = mixed.split((key_heads * key_dim, key_heads * key_dim, value_heads * value_dim), dim=1)
    q, k = (t.reshape(len(t), key_heads, key_dim) for t in (q, k))
    q, k = (t * torch.rsqrt(t.square().sum(-1, keepdim=True) + 1e-6) for t in (q, k))
    q, k = (t.repeat_interleave(value_heads // key_heads, dim=1) for t in (q * key_dim**-0.5, k))
    a_log, dt_bias = decay
    g = -a_log.exp() * functional.softplus(a.float() + dt_bias)
    return q, k, v.reshape(len(v), value_heads, value_dim), z, b.float().sigmoid(), g


def _chunked(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    def chunked(t: Tensor) -> Tensor:
        return t.unflatten(0, (-1, CHUNK)).transpose(1, 2)

    q, k, v, g, beta = chunked(q), chunked(k), chunked(v), chunked(g), chunked(beta).unsqueeze(-1)
    total = g.cumsum(2)
    later = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).triu(1)
    pairwise = (total.unsqueeze(3) - total.unsqueeze(2)).masked_fill(later, -torch.inf).exp()
    system = ((k * beta) @ k.transpose(2, 3) * pairwise).tril(-1)
    total = total.unsqueeze(-1)
    right = torch.cat((v * beta, k * beta * total.exp()), dim=3)
    scores = q @ k.transpose(2, 3) * pairwise
    last = total[:, :, -1:]
    return system, right, q * total.exp(), k * (last - total).exp(), last.exp(), scores


class _Solve(torch.autograd.Function):
    """`(I + system)^-1 right` for strictly lower triangular systems."""

    @staticmethod
    def forward(ctx: Any, system: Tensor, right: Tensor) -> Tensor:
        inverse = _run(_inverse, system)
        out = inverse @ right
        ctx.save_for_backward(inverse, out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        inverse, out = ctx.saved_tensors
        right = inverse.transpose(-1, -2) @ gradients[0]
        return -(right @ out.transpose(-1, -2)).tril(-1), right


def _inverse(system: Tensor) -> Tensor:
    """Blocks of 8 by their terminating series, then pairs of blocks until one is left: nothing but products, which a
    GPU does faster than it substitutes."""
    size, whole = 8, system.shape[-1]

    def blocks(of: int) -> Tensor:
        return system.unflatten(-1, (-1, of)).unflatten(-3, (-1, of))

    def times(a: Tensor, b: Tensor) -> Tensor:
        # Sums of products, in full precision: the series' terms cancel.
        return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)

    small = blocks(size).diagonal(dim1=-4, dim2=-2).movedim(-1, -3)
    unit = torch.eye(size, device=system.device, dtype=system.dtype)
    square = times(small, small)
    inverse = times(times(unit - small, unit + square), unit + times(square, square))
    while size < whole:
        below = blocks(size)[..., 1::2, :, 0::2, :].diagonal(dim1=-4, dim2=-2).movedim(-1, -3)
        upper, lower = inverse[..., 0::2, :, :], inverse[..., 1::2, :, :]
        corner = -(lower @ below @ upper)
        inverse = torch.cat((torch.cat((upper, torch.zeros_like(upper)), -1), torch.cat((corner, lower), -1)), dim=-2)
        size *= 2
    return inverse.squeeze(-3)


def _gated_delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, rows: int) -> Tensor:
    system, right, *parts, scores = _run(_chunked, q, k, v, g, beta)
    solved: Tensor = _Solve.apply(system, right)  # type: ignore[no-untyped-call]
    parts = [*solved.split((v.shape[2], k.shape[2]), dim=3), *parts]
    new, old, query, key, decay = (part.unflatten(0, (rows, -1)).unbind(1) for part in parts)
    state: Tensor | None = None
    values, carried = [], []
    for i in range(len(new)):
        value = new[i] if state is None else new[i] - old[i] @ state
        values.append(value)
        carried.append(torch.zeros_like(value) if state is None else query[i] @ state)
        update = key[i].transpose(2, 3) @ value
        state = update if state is None else state * decay[i] + update
    out = torch.stack(carried, 1).flatten(0, 1) + scores @ torch.stack(values, 1).flatten(0, 1)
    return out.transpose(1, 2).reshape(-1, *v.shape[1:])


def _recurrent_outputs(
    x: Tensor, o: Tensor, z: Tensor, norm: Tensor, out: Tensor, mlp: tuple[Tensor, ...], dtype: torch.dtype
) -> Tensor:
    o = o * torch.rsqrt(o.square().mean(-1, keepdim=True) + 1e-6) * norm
    o = o.flatten(1) * functional.silu(z.float())
    return _mlp(x + _linear(o, out, dtype), mlp, dtype)


def _rotation(config: Any, position: Tensor) -> tuple[Tensor, Tensor]:
    rope = config.rope_parameters
    dims = int(config.head_dim * rope["partial_rotary_factor"])
    frequency = rope["rope_theta"] ** (-torch.arange(0, dims, 2, device=position.device, dtype=torch.float32) / dims)
    angle = (position.unsqueeze(1) * frequency).repeat(1, 2).unsqueeze(1)
    return angle.cos(), angle.sin()


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    turned, kept = x.split((cos.shape[-1], x.shape[-1] - cos.shape[-1]), dim=-1)
    first, second = turned.chunk(2, dim=-1)
    return torch.cat((turned * cos + torch.cat((-second, first), dim=-1) * sin, kept), dim=-1)


def _attention_inputs(
    x: Tensor,
    norm: Tensor,
    weights: tuple[Tensor, ...],
    q_norm: Tensor,
    k_norm: Tensor,
    cos: Tensor,
    sin: Tensor,
    head_dim: int,
    dtype: torch.dtype,
) -> tuple[Tensor, ...]:
    y = _norm(x, norm)
    q, k, v = (_linear(y, weight, dtype) for weight in weights)
    q, gate = q.unflatten(1, (-1, 2 * head_dim)).chunk(2, dim=-1)
    k = k.unflatten(1, (-1, head_dim))
    q, k = _rotated(_norm(q, q_norm), cos, sin), _rotated(_norm(k, k_norm), cos, sin)
    return q.flatten(1).to(dtype), k.flatten(1).to(dtype), v, gate.flatten(1)


def _attention_outputs(
    x: Tensor, o: Tensor, gate: Tensor, out: Tensor, mlp: tuple[Tensor, ...], dtype: torch.dtype
) -> Tensor:
    return _mlp(x + _linear(o * torch.sigmoid(gate), out, dtype), mlp, dtype)


def _loss(hidden: Tensor, embedding: Tensor, targets: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    logits = _linear(hidden, embedding, dtype).float()
    each = torch.logsumexp(logits, dim=1) - logits.gather(1, targets.unsqueeze(1)).squeeze(1)
    return (each * weight).sum() / weight.sum().clamp_min(1.0)
