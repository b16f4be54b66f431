"""The model card of a V14 directory."""

from typing import Any

_CARD = """\
# {name} with an episodic memory

This directory holds {name} for sglang-v14: the checkpoint's own weights and tokenizer, and a `memory` section in
`config.json`. Served by SGLang with the sglang-v14 plugin, the model remembers what it was told in earlier chats. The
weights are not changed by it, and `SGLANG_V14_MEMORY=0` serves the plain checkpoint.

## Serve

```
sglang-v14 serve --model-path DIR
```

`DIR` is this directory. The memory is kept in `$SGLANG_V14_MEMORY_HOME` (default `/memory`).

## How it was made

`sglang-v14 upgrade` with the settings below; `sglang-v14 upgrade --check DIR` tells whether the directory is still in
order.

| | |
|---|---|
| architecture | `{architecture}`, served as `{native}` |
| weights | {weights} |
| chat template | {roles} |
| voting heads | {heads} |
| neutral bank | {bank} texts |

The checkpoint's licence holds for this directory too.
"""


def model_card(name: str, native: str, config: dict[str, Any], weights: str) -> str:
    """The card's Markdown text for a V14 `config`; `weights` says in words how the weights came here."""
    memory = config["memory"]
    roles = ", ".join(memory["markers"])
    heads = len(memory["voting_heads"])
    return _CARD.format(
        name=name,
        architecture=config["architectures"][0],
        native=native,
        weights=weights,
        roles=f"markers found for {roles}" if roles else "none; prompts are read as plain text",
        heads=f"{heads}, found by random-token calibration" if heads else "none: made without calibration",
        bank=len(memory["neutral_bank"]),
    )
