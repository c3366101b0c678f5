from .. import libdevice
