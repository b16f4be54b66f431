"""What an event does to the states of recurrent layers, kept small: see `engram.StateEngram`."""
