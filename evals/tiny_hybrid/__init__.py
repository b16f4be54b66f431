"""The chats that a tiny hybrid model learns from: facts told and asked for within one chat."""
