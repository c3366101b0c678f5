"""Modules of settings, as torch._dynamo.config is one: unknown names raise AttributeError, `patch` changes some for a while."""
import contextlib
import types


class Group:
    """Settings below a name of a module: `config.triton.cudagraphs`. A name that it has not raises AttributeError."""

    def __init__(self, path, **values):
        vars(self).update(values, _path=path)

    def __getattr__(self, name):
        raise AttributeError(f"{self._path} has no setting {name!r}")

    def __setattr__(self, name, value):
        if name not in vars(self):
            raise AttributeError(f"{self._path} has no setting {name!r}")
        vars(self)[name] = value

    def _items(self):
        return ((k, v) for k, v in vars(self).items() if k != "_path")


class Settings(types.ModuleType):
    """The class of such a module. Its names are what the module defines before it takes this class, without those that begin
    with two underscores and those of modules, classes and functions.

    `_same` {another name: name}; `_told` {name: f}, f(value) is called when the setting changes; `_refused` {name: the only
    value there is}: any other raises NotImplementedError.
    """

    def _names(self):
        return {k for k, v in vars(self).items() if not k.startswith("__") and k not in ("_same", "_told", "_refused")
                and not isinstance(v, (types.ModuleType, types.FunctionType, type))}

    def __getattr__(self, name):
        same = vars(self).get("_same", {})
        if name in same:
            return getattr(self, same[name])
        raise AttributeError(f"{self.__name__} has no setting {name!r}")

    def __setattr__(self, name, value):
        name = vars(self).get("_same", {}).get(name, name)
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        if name not in vars(self):
            raise AttributeError(f"{self.__name__} has no setting {name!r}")
        if isinstance(vars(self)[name], Group):
            raise AttributeError(f"{self.__name__}.{name} is a group of settings; set one of {', '.join(k for k, _ in vars(self)[name]._items())}")
        self._refuse(name, value)
        told = vars(self).get("_told", {}).get(name)
        if told is not None:
            told(value)
        super().__setattr__(name, value)

    def _refuse(self, name, value):
        refused = vars(self).get("_refused", {})
        if name in refused and value != refused[name]:
            raise NotImplementedError(f"{self.__name__}.{name} = {value!r} is not there; it is {refused[name]!r}")

    def _holder(self, name):
        """(what has the attribute, its name) of a dotted name."""
        head, _, last = name.rpartition(".")
        return (getattr(self, head) if head else self), last

    def get_config_copy(self):
        """{name: value}, dotted where the setting is one of a group."""
        found = {}
        for k in self._names():
            v = vars(self)[k]
            if isinstance(v, Group):
                found.update((f"{k}.{n}", x) for n, x in v._items())
            else:
                found[k] = v
        return found

    shallow_copy_dict = to_dict = get_config_copy

    def load_config(self, values):
        """load_config({name: value}): sets them all, or none where one is not known."""
        before = {}
        try:
            for k, v in values.items():
                holder, last = self._holder(k)
                old = getattr(holder, last)
                setattr(holder, last, v)
                before[k] = old
        except BaseException:
            for k, v in before.items():
                setattr(*self._holder(k), v)
            raise
        return before

    def patch(self, changes=None, value=None, **more):
        """patch("name", value), patch({...}) or patch(name=value): the settings are so within the block, or the function that it
        decorates."""
        if isinstance(changes, str):
            changes = {changes: value}
        changes = {**(changes or {}), **more}

        @contextlib.contextmanager
        def within():
            before = self.load_config(changes)
            try:
                yield
            finally:
                self.load_config(before)
        return within()
