"""What stops an upgrade."""


class UpgradeError(Exception):
    """An upgrade cannot be made; the message is one sentence for the user."""
