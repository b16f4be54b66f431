"""The chats that a tiny hybrid model learns from: facts told and asked for within one chat; and the trained model."""

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "checkpoint"
