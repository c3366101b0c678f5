"""Switches for behaviour of old versions, which is gone: setting one has no effect."""


class Warning:
    """A switch that warned of broadcasting where older versions did not broadcast."""

    def __init__(self):
        self.enabled = False

    def set_enabled(self, value):
        self.enabled = bool(value)

    def get_enabled(self):
        return self.enabled


broadcast_warning = Warning()
keepdim_warning = Warning()
