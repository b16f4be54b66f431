"""Loaded by every process of an engine under test: recalls in namespaces that begin with `silent` weigh nothing.

They take the whole way of a recall, a second reading included, and must leave the answer as it was.
"""

import sglang_v14.episodic as episodic

_bias_of = episodic.bias_of
_room = episodic.EpisodicMemory.room


def _silent_bias(recalled):
    return _bias_of(recalled) - 200.0 * recalled[0].entry.namespace.startswith("silent")


def _no_room(self, request, req):
    return -1 if request.memory.namespace.startswith("silent") else _room(self, request, req)


episodic.bias_of = _silent_bias
episodic.EpisodicMemory.room = _no_room
