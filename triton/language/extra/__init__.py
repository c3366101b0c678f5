from . import libdevice
