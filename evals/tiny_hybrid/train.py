"""Trains the tiny hybrid: `python -m evals.tiny_hybrid.train --out FOLDER`, in the project's root, on one GPU."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import torch

from .batches import LENGTHS, Producers
from .encoding import Encoder
from .evaluate import report
from .fast_forward import compile_parts, loss
from .shape import config, initialise

HERE = Path(__file__).parent
MODEL = HERE / "model"
_WARM_UP = 0.02
_DECAY_FROM = 0.4


def main() -> None:
    """Train, evaluate, and leave `master-*.safetensors`, `report.json` and `log.jsonl` in the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=18.0, help="training time in all")
    parser.add_argument("--this-run", type=float, default=1e9, help="minutes before this run stops, to be resumed")
    parser.add_argument("--resume", type=Path, help="folder that an earlier run left")
    parser.add_argument("--tokens", type=int, default=122_880, help="tokens of a step")
    parser.add_argument("--questions", type=int, default=500, help="per task and split in the report; 0: none")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--no-compile", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(options.seed)
    if not options.no_compile:
        compile_parts()
    done = _state(options.resume)
    producers = Producers(MODEL, options.seed + int(done["steps"]), options.tokens, options.processes)
    model = _model(options, done)
    try:
        done = _train(model, producers, options, done)
    finally:
        producers.stop()
    save(model, options.out, done)
    if not options.questions:
        return
    model = model.bfloat16().float()
    result = report(model, Encoder.of(MODEL), options.questions, options.seed, options.tokens, _dtype(options.device))
    (options.out / "report.json").write_text(json.dumps({**done, **result}, indent=1, ensure_ascii=False))
    for split, tasks in result.items():
        print(split, {task: round(one["right"] / one["of"], 3) for task, one in tasks.items()}, flush=True)


def _dtype(device: str) -> torch.dtype:
    return torch.bfloat16 if device == "cuda" else torch.float32


def _state(folder: Path | None) -> dict[str, float]:
    if folder is None:
        return {"steps": 0, "tokens": 0, "seconds": 0.0}
    return dict(json.loads((folder / "state.json").read_text()))


def _model(options: Any, done: dict[str, float]) -> Any:
    from safetensors.torch import load_file
    from transformers.models.qwen3_5 import Qwen3_5ForCausalLM

    model = Qwen3_5ForCausalLM(config()).float()
    initialise(model, torch.Generator().manual_seed(options.seed))
    if options.resume:
        weights = {}
        for file in sorted(options.resume.glob("master-*.safetensors")):
            weights.update(load_file(file))
        missing, unexpected = model.load_state_dict(weights, strict=False)
        assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    return model.to(options.device)


def save(model: Any, folder: Path, state: dict[str, float]) -> None:
    """Write the weights as they are trained, float32, in two files, and how far the training is."""
    from safetensors.torch import save_file

    weights = {name: p.detach().cpu().contiguous() for name, p in model.named_parameters()}
    names = sorted(weights)
    for part in range(2):
        save_file({name: weights[name] for name in names[part::2]}, folder / f"master-{part}.safetensors")
    (folder / "state.json").write_text(json.dumps(state))


def _optimisers(model: Any) -> list[torch.optim.Optimizer]:
    matrices, embedding, others = [], [], []
    for name, parameter in model.named_parameters():
        if "embed_tokens" in name:
            embedding.append(parameter)
        elif parameter.dim() == 2 and min(parameter.shape) >= 32:
            matrices.append(parameter)
        else:
            others.append(parameter)
    return [
        # Muon (Jordan et al. 2024) with the update scale of arXiv 2502.16982.
        torch.optim.Muon(matrices, lr=4e-3, weight_decay=0.02, momentum=0.95, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(
            [{"params": embedding, "lr": 4e-3}, {"params": others, "lr": 3e-3}], betas=(0.9, 0.95), weight_decay=0.0
        ),
    ]


def _train(model: Any, producers: Producers, options: Any, done: dict[str, float]) -> dict[str, float]:
    optimisers = _optimisers(model)
    rates = [[group["lr"] for group in optimiser.param_groups] for optimiser in optimisers]
    steps, tokens, before = int(done["steps"]), int(done["tokens"]), float(done["seconds"])
    dtype, first_step, losses = _dtype(options.device), steps, {length: 0.0 for length in LENGTHS}
    began = shown = time.perf_counter()
    with (options.out / "log.jsonl").open("a") as log:
        for batch in producers:
            seconds = before + time.perf_counter() - began
            part = seconds / (60 * options.minutes)
            if part >= 1.0 or seconds - before > 60 * options.this_run:
                break
            # A resumed run has lost its momentum and warms up anew.
            rate = min(1.0, part / _WARM_UP if not first_step else 1.0, (steps - first_step + 1) / 50)
            rate *= min(1.0, (1.0 - part) / (1.0 - _DECAY_FROM))
            for optimiser, its in zip(optimisers, rates, strict=True):
                for group, lr in zip(optimiser.param_groups, its, strict=True):
                    group["lr"] = lr * rate
            ids = torch.from_numpy(batch.tokens).to(options.device, torch.long)
            value = loss(model, ids, torch.from_numpy(batch.weights).to(options.device, torch.float32), dtype)
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for optimiser in optimisers:
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
            steps, tokens = steps + 1, tokens + ids.numel()
            if steps % 20 == 0:
                losses[ids.shape[1]] = round(value.item(), 4)
            if steps % 100 == 0:
                now = time.perf_counter()
                line = {"steps": steps, "tokens": tokens, "minutes": round(seconds / 60, 2), "rate": round(rate, 3)}
                line |= {"tokens_per_second": int(100 * ids.numel() / (now - shown)), "loss": losses}
                print(json.dumps(line), flush=True)
                print(json.dumps(line), file=log, flush=True)
                shown = now
    return {"steps": steps, "tokens": tokens, "seconds": before + time.perf_counter() - began}


if __name__ == "__main__":
    main()
