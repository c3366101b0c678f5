"""Versions. The distribution is named torch so that packages that ask for it are content."""
__version__ = "2.14.1+flambeau0.1"
debug = False
cuda = None
hip = None
xpu = None
git_version = "flambeau"
