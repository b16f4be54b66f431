"""The checks, by name, in the order they are run in."""

from collections.abc import Callable

from ..result import Row
from ..run import Run
from . import (
    ask_tell_ask,
    concurrent,
    corrections,
    decode_speed,
    dropped_stream,
    facts,
    first_token,
    later,
    long_prompt,
    namespaces,
    paraphrases,
    prefix_cache,
    restart,
    server_log,
    store_size,
    storing,
    two_steps,
    unrelated,
)

CHECKS: dict[str, Callable[[Run], list[Row]]] = {
    "facts": facts.check,
    "unrelated": unrelated.check,
    "paraphrases": paraphrases.check,
    "later": later.check,
    "restart": restart.check,
    "concurrent": concurrent.check,
    "long-prompt": long_prompt.check,
    "dropped-stream": dropped_stream.check,
    "corrections": corrections.check,
    "two-steps": two_steps.check,
    "ask-tell-ask": ask_tell_ask.check,
    "namespaces": namespaces.check,
    "first-token": first_token.check,
    "decode-speed": decode_speed.check,
    "prefix-cache": prefix_cache.check,
    "storing": storing.check,
    "store-size": store_size.check,
    "server-log": server_log.check,
}
