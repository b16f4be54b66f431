"""The suite's own texts, as typed tables."""
