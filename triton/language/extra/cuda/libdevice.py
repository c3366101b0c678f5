from ..libdevice import *  # noqa: F403
