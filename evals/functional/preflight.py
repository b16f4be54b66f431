"""What has to hold before a run starts: a chat server answers, and it has a memory."""

import secrets

from .client import ChatClient, Memory, MemoryUnavailable, NotAChatServer, RequestRefused
from .run import Abilities

_PROMPT = "Say hello."


def examine(client: ChatClient, *, require_report: bool = True) -> Abilities:
    """Ask the server three short questions and return what it understands. Nothing is written to any memory.

    Raises ServerUnreachable, NotAChatServer, or MemoryUnavailable when the `memory` field is sent and refused, or
    (with `require_report`) not reported on.
    """
    try:
        client.chat(_PROMPT, max_tokens=1)
    except RequestRefused as error:
        raise NotAChatServer(f"{client.root} refuses a plain chat with model {client.model!r}: {error}") from error
    reports = client.memory_field and _reports_memory(client, require_report)
    return Abilities(
        token_ids=_accepts(client, "return_output_ids_in_sglext"),
        ignore_eos=_accepts(client, "ignore_eos"),
        memory_reports=reports,
    )


def _reports_memory(client: ChatClient, require_report: bool) -> bool:
    try:
        reply = client.chat(_PROMPT, memory=Memory(f"suite-{secrets.token_hex(6)}", "read"), max_tokens=1)
    except RequestRefused as error:
        raise MemoryUnavailable(
            f"the server refuses the `memory` field ({error}). Is this sglang-v14? --memory absent measures a server "
            "without sending the field."
        ) from error
    if reply.memory is None and require_report:
        raise MemoryUnavailable(
            f"the server serves {client.model!r} without reporting a memory: its directory has no memory section, "
            "or the server runs with SGLANG_V14_MEMORY=0. --memory optional runs the suite all the same."
        )
    return reply.memory is not None


def _accepts(client: ChatClient, field: str) -> bool:
    try:
        client.chat(_PROMPT, max_tokens=1, memory=None, **{field: True})
    except RequestRefused:
        return False
    return True
