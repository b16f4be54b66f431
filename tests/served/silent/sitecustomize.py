"""Loaded by every process of an engine under test.

Recalls in namespaces that begin with `silent` weigh nothing: they take the whole way of a recall, a second reading
included, and must leave the answer as it was. Keys and values are stored as they are, not rounded to float16.
"""

import sglang_v14.episodic as episodic

_bias_of = episodic.bias_of
_with_engrams = episodic.EpisodicMemory.with_engrams
_room = episodic.EpisodicMemory.room


def _silent_bias(recalled):
    return _bias_of(recalled) - 200.0 * recalled[0].entry.namespace.startswith("silent")


def _no_room(self, request, req):
    return -1 if request.memory.namespace.startswith("silent") else _room(self, request, req)


def _silent_states(self, states, placed):
    return states if bool((placed.bias < -100).all()) else _with_engrams(self, states, placed)


episodic.storage_dtype = lambda kv: kv
episodic.EpisodicMemory.with_engrams = _silent_states
episodic.bias_of = _silent_bias
episodic.EpisodicMemory.room = _no_room
