"""A forward that is run again in part, with SGLang's own batch."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sglang_v14.hooks import forward as forward_module
from sglang_v14.hooks import targets
from sglang_v14.hooks.forward import Forward, Part, Row

info = pytest.importorskip(
    "sglang.srt.model_executor.forward_batch_info", reason="SGLang is not installed", exc_type=ImportError
)

# Rows of the request table, what was cached of each request, and how long it is.
TABLE_ROWS, STARTS, ENDS = (3, 1, 2), (2, 0, 4), (7, 4, 9)


def runner(**more: Any) -> Any:
    table = torch.arange(400, dtype=torch.int32).view(4, 100)
    return SimpleNamespace(req_to_token_pool=SimpleNamespace(req_to_token=table), **more)


def text(row: int) -> list[int]:
    """A request's token ids."""
    return [1000 * row + t for t in range(ENDS[row])]


def prefill(**changes: Any) -> Any:
    """Three requests in one prefill batch."""
    spans = list(zip(STARTS, ENDS, strict=True))
    lengths = [end - start for start, end in spans]
    table = runner().req_to_token_pool.req_to_token
    positions = torch.cat([torch.arange(start, end) for start, end in spans])
    fields = {
        "forward_mode": info.ForwardMode.EXTEND,
        "batch_size": 3,
        "input_ids": torch.tensor([t for row, (s, e) in enumerate(spans) for t in text(row)[s:e]]),
        "req_pool_indices": torch.tensor(TABLE_ROWS),
        "seq_lens": torch.tensor(ENDS),
        "seq_lens_cpu": torch.tensor(ENDS),
        "orig_seq_lens": torch.tensor(ENDS, dtype=torch.int32),
        "seq_lens_sum": sum(ENDS),
        "out_cache_loc": torch.cat([table[r, s:e] for r, (s, e) in zip(TABLE_ROWS, spans, strict=True)]).long(),
        "positions": positions,
        "mrope_positions": positions.expand(3, -1).contiguous(),
        "extend_num_tokens": sum(lengths),
        "extend_seq_lens": torch.tensor(lengths, dtype=torch.int32),
        "extend_prefix_lens": torch.tensor(STARTS, dtype=torch.int32),
        "extend_start_loc": torch.tensor([0, *lengths[:-1]], dtype=torch.int32).cumsum(0).int(),
        "extend_prefix_lens_cpu": list(STARTS),
        "extend_seq_lens_cpu": lengths,
        "rids": ["a", "b", "c"],
        "mm_inputs": [None, None, None],
        "sampling_info": object(),
    }
    return info.ForwardBatch(**{**fields, **changes})


def part(forward: Forward, index: int, start: int, shift: int) -> Part:
    return Part(forward.rows[index], start, shift, text(index))


@contextmanager
def nothing(rows: Any) -> Any:
    yield


def test_rows() -> None:
    """A prefill computes what was not cached, a decode the last token."""
    forward = Forward(runner(), prefill(), (), None)  # type: ignore[arg-type]
    assert forward.rows == [Row(0, 3, 2, 7), Row(1, 1, 0, 4), Row(2, 2, 4, 9)]
    assert not forward.is_decode
    decode = Forward(runner(), prefill(forward_mode=info.ForwardMode.DECODE, seq_lens_cpu=None), (), None)  # type: ignore[arg-type]
    assert decode.is_decode
    assert decode.rows == [Row(0, 3, 6, 7), Row(1, 1, 3, 4), Row(2, 2, 8, 9)]


def test_sub_batch() -> None:
    """Two of three requests, from tokens in and before what this forward computed: as if they had come alone."""
    whole = prefill()
    forward = Forward(runner(), whole, (), None)  # type: ignore[arg-type]
    parts = [part(forward, 2, 6, 10), part(forward, 0, 1, 0)]
    batch = forward._sub_batch(parts, [6, 1])
    assert type(batch) is type(whole)
    assert batch.batch_size == 2
    assert batch.input_ids.tolist() == [2006, 2007, 2008, 1, 2, 3, 4, 5, 6]
    assert batch.input_ids.dtype == whole.input_ids.dtype
    assert batch.out_cache_loc.tolist() == [206, 207, 208, 301, 302, 303, 304, 305, 306]
    assert batch.out_cache_loc.dtype == whole.out_cache_loc.dtype
    assert batch.positions.tolist() == [16, 17, 18, 1, 2, 3, 4, 5, 6]
    assert batch.mrope_positions.tolist() == [batch.positions.tolist()] * 3
    assert batch.req_pool_indices.tolist() == [2, 3]
    for lengths in (batch.seq_lens, batch.seq_lens_cpu, batch.orig_seq_lens):
        assert lengths.tolist() == [9, 7]
    assert batch.seq_lens_sum == 16
    assert batch.extend_num_tokens == 9
    assert batch.extend_seq_lens.tolist() == batch.extend_seq_lens_cpu == [3, 6]
    assert batch.extend_prefix_lens.tolist() == batch.extend_prefix_lens_cpu == [6, 1]
    assert batch.extend_start_loc.tolist() == [0, 3]
    assert batch.extend_seq_lens.dtype == batch.extend_start_loc.dtype == torch.int32
    assert batch.rids == ["c", "a"]
    assert batch.mm_inputs == [None, None]
    assert batch.lora_ids is None
    assert batch.mamba_track_indices is None
    assert batch.forward_mode is whole.forward_mode
    assert batch.sampling_info is whole.sampling_info


def test_sub_batch_leaves_the_batch_alone() -> None:
    """The sampler goes on with the whole batch."""
    whole, same = prefill(), prefill()
    forward = Forward(runner(), whole, (), None)  # type: ignore[arg-type]
    forward._sub_batch([part(forward, 1, 2, 5)], [2])
    for name in ("input_ids", "positions", "mrope_positions", "out_cache_loc", "seq_lens", "extend_seq_lens"):
        assert torch.equal(getattr(whole, name), getattr(same, name))
    assert whole.batch_size == 3
    assert whole.rids == ["a", "b", "c"]


def test_positions_before_the_start_are_not_shifted() -> None:
    """A part that is read from before its start, for a recurrent state, moves only from the start on."""
    forward = Forward(runner(), prefill(mrope_positions=None), (), None)  # type: ignore[arg-type]
    batch = forward._sub_batch([part(forward, 2, 6, 10)], [4])
    assert batch.positions.tolist() == [4, 5, 16, 17, 18]
    assert batch.mrope_positions is None
    assert batch.input_ids.tolist() == [2004, 2005, 2006, 2007, 2008]


def test_reading_again_in_part() -> None:
    """The logits of what was read again take their rows; the others' stay, in the same output."""
    ran: list[Any] = []

    def run(batch: Any) -> Any:
        ran.append(batch)
        logits = torch.full((batch.batch_size, 2), float(len(ran))) + torch.arange(batch.batch_size)[:, None] / 10
        return SimpleNamespace(logits_output=SimpleNamespace(next_token_logits=logits))

    forward = Forward(runner(), prefill(), (), run)
    output = forward.run(may_read_again=True)
    seen: list[Any] = []

    @contextmanager
    def within(rows: Any) -> Any:
        seen.append((list(rows), len(ran)))
        yield

    again = forward.read_again([part(forward, 2, 6, 10), part(forward, 0, 5, 0)], output, within)
    assert again is output
    assert output.logits_output.next_token_logits[:, 0].tolist() == pytest.approx([2.1, 1.1, 2.0])
    assert seen == [([Row(0, 2, 6, 9), Row(1, 3, 5, 7)], 1)]
    assert [batch.batch_size for batch in ran] == [3, 2]


def test_output_log_probabilities_are_no_obstacle() -> None:
    """Those of the prompt's tokens are: the part's could not be put into the whole batch's."""
    lengths = prefill().extend_seq_lens_cpu
    outputs = prefill(return_logprob=True, extend_logprob_start_lens_cpu=lengths)
    assert Forward(runner(), outputs, (), lambda batch: None).can_read_in_part
    inputs = prefill(return_logprob=True, extend_logprob_start_lens_cpu=[*lengths[:-1], 0])
    assert not Forward(runner(), inputs, (), lambda batch: None).can_read_in_part


@pytest.mark.parametrize("fails", [False, True])
def test_reading_again_as_a_whole(fails: bool) -> None:
    """With input log-probabilities the whole batch is read again; its positions are put back, whatever happens."""
    ran: list[list[int]] = []

    def run(batch: Any) -> str:
        assert batch.mrope_positions.tolist() == [batch.positions.tolist()] * 3
        ran.append(batch.positions.tolist())
        if fails and len(ran) > 1:
            raise RuntimeError
        return f"output {len(ran)}"

    whole = prefill(return_logprob=True, extend_logprob_start_lens_cpu=[0, 0, 0])
    forward = Forward(runner(), whole, (), run)
    output = forward.run(may_read_again=True)
    assert not forward.can_read_in_part
    assert forward.first_rereadable(forward.rows[0], 1) == 2
    assert forward.first_rereadable(forward.rows[0], 5) == 5
    parts = [part(forward, 0, 5, 10), part(forward, 2, 4, 20)]
    if fails:
        with pytest.raises(RuntimeError):
            forward.read_again(parts, output, nothing)
    else:
        assert forward.read_again(parts, output, nothing) == "output 2"
    assert ran[0] == [2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert ran[1] == [2, 3, 4, 15, 16, 0, 1, 2, 3, 24, 25, 26, 27, 28]
    assert whole.positions.tolist() == ran[0]
    assert whole.mrope_positions.tolist() == [ran[0]] * 3


def test_shift_positions() -> None:
    """Every request of a decode by its own shift; without any the tensors stay the same ones."""
    batch = prefill(
        forward_mode=info.ForwardMode.DECODE,
        positions=torch.tensor([6, 3, 8]),
        mrope_positions=torch.tensor([[6, 3, 8]] * 3),
    )
    forward = Forward(runner(), batch, (), None)  # type: ignore[arg-type]
    before = batch.positions
    forward.shift_positions([0, 0, 0])
    assert batch.positions is before
    forward.shift_positions([10, 0, 20])
    assert batch.positions.tolist() == [16, 3, 28]
    assert batch.mrope_positions.tolist() == [[16, 3, 28]] * 3
    assert before.tolist() == [6, 3, 8]


def test_any_token_can_be_read_again() -> None:
    """Also one that an earlier chunk computed, where nothing stands against it."""
    forward = Forward(runner(), prefill(), (), None)  # type: ignore[arg-type]
    assert forward.first_rereadable(forward.rows[2], 1) == 1


@pytest.mark.parametrize("hybrid", [False, True])
def test_keep_private(hybrid: bool) -> None:
    """Only a hybrid's requests leave nothing at all in the prefix cache."""
    engine = runner()
    if hybrid:
        engine.req_to_token_pool.mamba_pool = object()
    reqs = [SimpleNamespace(skip_radix_cache_insert=False) for _ in range(3)]
    forward = Forward(engine, prefill(), reqs, None)  # type: ignore[arg-type]
    forward.keep_private(forward.rows[1])
    assert [req.skip_radix_cache_insert for req in reqs] == [False, hybrid, False]


# What reaches the listener


class Told:
    """A listener that says which forwards it was given."""

    def __init__(self) -> None:
        self.forwards: list[Forward] = []
        self.hooks = {hook.target: hook.function for hook in forward_module.hooks(self)}  # type: ignore[arg-type]

    def forward(self, forward: Forward) -> Any:
        self.forwards.append(forward)
        return ("heard", forward.run())

    def run(self, batch: Any, reqs: Any, *, draft: bool = False) -> Any:
        engine = runner(is_draft_worker=draft)

        def model_forward(given: Any, forward_batch: Any, pp_proxy_tensors: Any = None) -> Any:
            assert given is engine
            return (forward_batch.batch_size, pp_proxy_tensors)

        def worker_forward(worker: Any, scheduled: Any, *args: Any, **kwargs: Any) -> Any:
            return self.hooks[targets.MODEL_FORWARD](model_forward, engine, batch, "proxies")

        scheduled = None if reqs is None else SimpleNamespace(reqs=reqs)
        return self.hooks[targets.BATCH_FORWARD](worker_forward, "worker", scheduled)


REQS = ["req a", "req b", "req c"]


@pytest.mark.parametrize("mode", ["EXTEND", "DECODE", "MIXED"])
def test_prefill_and_decode_are_heard(mode: str) -> None:
    """With the batch's requests, and with the engine's own further arguments."""
    told = Told()
    assert told.run(prefill(forward_mode=info.ForwardMode[mode]), REQS) == ("heard", (3, "proxies"))
    (forward,) = told.forwards
    assert forward.reqs == REQS


@pytest.mark.parametrize(
    ("mode", "reqs", "draft"),
    [
        ("EXTEND", REQS, True),
        ("EXTEND", None, False),
        ("EXTEND", REQS[:2], False),
        ("TARGET_VERIFY", REQS, False),
        ("DRAFT_EXTEND_V2", REQS, False),
        ("IDLE", REQS, False),
    ],
)
def test_other_forwards_are_not_heard(mode: str, reqs: Any, draft: bool) -> None:
    """The draft's, warm-ups without requests, batches that are not the requests', and other modes."""
    told = Told()
    assert told.run(prefill(forward_mode=info.ForwardMode[mode]), reqs, draft=draft) == (3, "proxies")
    assert told.forwards == []


def test_requests_of_a_failed_forward_are_forgotten() -> None:
    """The next forward without requests is not taken for theirs."""
    told = Told()

    def failing(*args: Any) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        told.hooks[targets.BATCH_FORWARD](failing, "worker", SimpleNamespace(reqs=REQS))
    assert forward_module._reqs == []
