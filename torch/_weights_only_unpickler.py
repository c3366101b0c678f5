"""Reads pickled tensors and plain containers, and calls nothing that is not on a list.

The pickle machine is written anew here rather than by limiting the standard one: the opcodes that
build objects must be checked for what they build, not only for the names they look up.
"""

import collections
import pickle
import struct

import torch

UnpicklingError = pickle.UnpicklingError

_user_globals = []


def _name_of(obj):
    return f"{obj.__module__}.{getattr(obj, '__qualname__', obj.__name__)}"


def _builtin_exceptions():
    import builtins
    return [v for v in vars(builtins).values()
            if isinstance(v, type) and issubclass(v, BaseException)]


def _get_safe_globals():
    return list(_user_globals)


def _add_safe_globals(entries):
    known = [id(e) if not isinstance(e, tuple) else (id(e[0]), e[1]) for e in _user_globals]
    for entry in entries:
        if isinstance(entry, tuple) and not (len(entry) == 2 and isinstance(entry[1], str)):
            raise ValueError(f"an entry must be an object or (object, name), got {entry!r}")
        key = id(entry) if not isinstance(entry, tuple) else (id(entry[0]), entry[1])
        if key not in known:
            _user_globals.append(entry)


def _remove_safe_globals(entries):
    gone = list(entries)
    for entry in gone:
        if entry in _user_globals:
            _user_globals.remove(entry)


def _clear_safe_globals():
    _user_globals.clear()


class _safe_globals:
    def __init__(self, entries):
        self.entries = entries

    def __enter__(self):
        self.before = list(_user_globals)
        _add_safe_globals(self.entries)

    def __exit__(self, *exc):
        _user_globals[:] = self.before


def _user_allowed():
    allowed = {}
    for entry in _user_globals:
        if isinstance(entry, tuple):
            allowed[entry[1]] = entry[0]
        else:
            allowed[_name_of(entry)] = entry
    return allowed


_default = None


def _default_allowed():
    """name -> object of everything a file may name: constructors of tensors and containers."""
    global _default
    if _default is not None:
        return _default
    from torch import _tensor, _utils, serialization, storage
    from torch.nn.parameter import Parameter
    allowed = {
        "collections.OrderedDict": collections.OrderedDict,
        "collections.Counter": collections.Counter,
        "builtins.set": set, "builtins.complex": complex, "builtins.bytearray": bytearray,
        "_codecs.encode": _encode,
        "torch.Size": torch.Size, "torch.Tensor": torch.Tensor, "torch.device": torch.device,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.serialization._get_layout": serialization._get_layout,
        "torch.storage.TypedStorage": storage.TypedStorage,
        "torch.storage.UntypedStorage": storage.UntypedStorage,
        "torch._tensor._rebuild_from_type_v2": _tensor._rebuild_from_type_v2,
    }
    for name in ("_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_tensor",
                 "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_sparse_tensor",
                 "_rebuild_meta_tensor_no_storage", "_rebuild_nested_tensor",
                 "_rebuild_wrapper_subclass", "_rebuild_qtensor",
                 "_rebuild_device_tensor_from_numpy", "_rebuild_device_tensor_from_cpu_tensor"):
        allowed[f"torch._utils.{name}"] = getattr(_utils, name)
    for name in storage._STORAGE_DTYPES:
        if hasattr(torch, name):
            allowed[f"torch.{name}"] = getattr(torch, name)
            allowed[f"torch.cuda.{name}"] = getattr(torch, name)
    for name, value in vars(torch).items():
        if isinstance(value, torch.dtype):
            allowed[f"torch.{name}"] = value
        elif "per_" in name and type(value).__name__ == "qscheme":
            allowed[f"torch.{name}"] = value
    for error in _builtin_exceptions():
        allowed[f"builtins.{error.__name__}"] = error
    _default = allowed
    return allowed


def _encode(text, encoding="latin1"):
    """bytes as old pickles hold them: latin-1 text."""
    if encoding != "latin1":
        raise UnpicklingError(f"bytes in the encoding {encoding!r} are not read")
    return text.encode("latin1")


_TWO_TO_THREE = {"__builtin__": "builtins", "copy_reg": "copyreg"}


class Unpickler:
    """As pickle.Unpickler: `load()` gives the next object; `persistent_load` may be set."""

    def __init__(self, file, *, encoding="bytes"):
        self.encoding = encoding
        self.read = file.read
        self.readline = file.readline
        self.memo = {}
        self.persistent_load = None
        user = _user_allowed()
        self.allowed = {**_default_allowed(), **user}
        self.callable = {id(v) for v in self.allowed.values()}
        self.user = {id(v) for v in user.values()}

    def _bytes(self, n):
        data = self.read(n)
        if len(data) != n:
            raise EOFError("the pickled data ends too early")
        return data

    def _line(self):
        line = self.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the pickled data ends within a line")
        return line[:-1].decode("utf-8")

    def _int(self, code):
        return struct.unpack(code, self._bytes(struct.calcsize(code)))[0]

    def find_class(self, module, name):
        module = _TWO_TO_THREE.get(module, module)
        full = f"{module}.{name}"
        try:
            return self.allowed[full]
        except KeyError:
            raise UnpicklingError(
                f"the file names {full}, which is not among the things that are built without "
                f"trust. If you trust it, add it by torch.serialization.add_safe_globals "
                f"([{name}]), or load with weights_only=False, which may run any code") from None

    def _call(self, func, args):
        if not isinstance(args, tuple):
            raise UnpicklingError(f"arguments must be a tuple, got {type(args).__name__}")
        if id(func) not in self.callable:
            raise UnpicklingError(f"the file calls {func!r}, which it was not given by name")
        if func is torch.Tensor or isinstance(func, torch.dtype):
            raise UnpicklingError(f"the file calls {func!r}")
        if func is self.allowed["torch._tensor._rebuild_from_type_v2"] and not (
                len(args) == 4 and id(args[0]) in self.callable and id(args[1]) in self.callable):
            # It calls its first argument.
            raise UnpicklingError("the file rebuilds a tensor by something that is not allowed")
        try:
            return func(*args)
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise UnpicklingError(f"building {getattr(func, '__name__', func)} of the pickled "
                                  f"arguments failed: {error}") from error

    def _build(self, obj, state):
        kind = type(obj)
        if kind is torch.Tensor:
            obj.set_(*state)
        elif kind is torch.nn.Parameter:
            obj.__setstate__(state)
        elif kind in (collections.OrderedDict, collections.Counter):
            obj.__dict__.update(state)
        elif id(kind) in self.user:
            if hasattr(obj, "__setstate__"):
                obj.__setstate__(state)
                return
            slots = None
            if isinstance(state, tuple) and len(state) == 2:
                state, slots = state
            if state:
                obj.__dict__.update(state)
            for name, value in (slots or {}).items():
                setattr(obj, name, value)
        elif issubclass(kind, BaseException):
            obj.__dict__.update(state)
        else:
            raise UnpicklingError(f"the file sets attributes of a {kind.__name__}, which is only "
                                  "done for tensors, ordered dicts and types that you allowed")

    def load(self):
        """The next object. Raises UnpicklingError for what may not be read."""
        stack, marks = [], []
        memo = self.memo
        read = self.read

        def pop_mark():
            if not marks:
                raise UnpicklingError("the pickled data closes a group that it did not open")
            at = marks.pop()
            items = stack[at:]
            del stack[at:]
            return items

        while True:
            key = read(1)
            if not key:
                raise EOFError("the pickled data ends too early")
            op = key[0]
            try:
                # In the order in which a file of tensors uses them.
                if op == 0x68:  # BINGET
                    stack.append(memo[self._bytes(1)[0]])
                elif op == 0x71:  # BINPUT
                    memo[self._bytes(1)[0]] = stack[-1]
                elif op == 0x72:  # LONG_BINPUT
                    memo[self._int("<I")] = stack[-1]
                elif op == 0x6A:  # LONG_BINGET
                    stack.append(memo[self._int("<I")])
                elif op == 0x94:  # MEMOIZE
                    memo[len(memo)] = stack[-1]
                elif op == 0x4B:  # BININT1
                    stack.append(self._bytes(1)[0])
                elif op == 0x28:  # MARK
                    marks.append(len(stack))
                elif op == 0x74:  # TUPLE
                    stack.append(tuple(pop_mark()))
                elif op == 0x85:
                    stack[-1] = (stack[-1],)
                elif op == 0x86:
                    stack[-2:] = [tuple(stack[-2:])]
                elif op == 0x87:
                    stack[-3:] = [tuple(stack[-3:])]
                elif op == 0x29:
                    stack.append(())
                elif op == 0x58:  # BINUNICODE
                    stack.append(str(self._bytes(self._int("<I")), "utf-8", "surrogatepass"))
                elif op == 0x8C:  # SHORT_BINUNICODE
                    stack.append(str(self._bytes(self._bytes(1)[0]), "utf-8", "surrogatepass"))
                elif op == 0x51:  # BINPERSID
                    stack.append(self.persistent_load(stack.pop()))
                elif op == 0x52:  # REDUCE
                    args = stack.pop()
                    stack[-1] = self._call(stack[-1], args)
                elif op == 0x63:  # GLOBAL
                    stack.append(self.find_class(self._line(), self._line()))
                elif op == 0x93:  # STACK_GLOBAL
                    name, module = stack.pop(), stack.pop()
                    stack.append(self.find_class(module, name))
                elif op == 0x89:
                    stack.append(False)
                elif op == 0x88:
                    stack.append(True)
                elif op == 0x4E:
                    stack.append(None)
                elif op == 0x4D:  # BININT2
                    stack.append(self._int("<H"))
                elif op == 0x4A:  # BININT
                    stack.append(self._int("<i"))
                elif op == 0x8A:  # LONG1
                    stack.append(int.from_bytes(self._bytes(self._bytes(1)[0]), "little",
                                                signed=True))
                elif op == 0x47:  # BINFLOAT
                    stack.append(self._int(">d"))
                elif op == 0x7D:
                    stack.append({})
                elif op == 0x5D:
                    stack.append([])
                elif op == 0x8F:
                    stack.append(set())
                elif op == 0x73:  # SETITEM
                    value, k = stack.pop(), stack.pop()
                    self._mapping(stack[-1])[k] = value
                elif op == 0x75:  # SETITEMS
                    items = pop_mark()
                    target = self._mapping(stack[-1])
                    for i in range(0, len(items), 2):
                        target[items[i]] = items[i + 1]
                elif op == 0x61:  # APPEND
                    value = stack.pop()
                    self._list(stack[-1]).append(value)
                elif op == 0x65:  # APPENDS
                    items = pop_mark()
                    self._list(stack[-1]).extend(items)
                elif op == 0x90:  # ADDITEMS
                    items = pop_mark()
                    if type(stack[-1]) is not set:
                        raise UnpicklingError("items are added to something that is no set")
                    stack[-1].update(items)
                elif op == 0x91:
                    stack.append(frozenset(pop_mark()))
                elif op == 0x62:  # BUILD
                    state = stack.pop()
                    self._build(stack[-1], state)
                elif op == 0x81:  # NEWOBJ
                    args, cls = stack.pop(), stack.pop()
                    stack.append(self._new(cls, args, {}))
                elif op == 0x92:  # NEWOBJ_EX
                    kwargs, args, cls = stack.pop(), stack.pop(), stack.pop()
                    stack.append(self._new(cls, args, kwargs))
                elif op == 0x55:  # SHORT_BINSTRING
                    stack.append(self._string(self._bytes(self._bytes(1)[0])))
                elif op == 0x54:  # BINSTRING
                    stack.append(self._string(self._bytes(self._int("<I"))))
                elif op == 0x43:  # SHORT_BINBYTES
                    stack.append(self._bytes(self._bytes(1)[0]))
                elif op == 0x42:  # BINBYTES
                    stack.append(self._bytes(self._int("<I")))
                elif op == 0x8E:  # BINBYTES8
                    stack.append(self._bytes(self._int("<Q")))
                elif op == 0x96:  # BYTEARRAY8
                    stack.append(bytearray(self._bytes(self._int("<Q"))))
                elif op == 0x8D:  # BINUNICODE8
                    stack.append(str(self._bytes(self._int("<Q")), "utf-8", "surrogatepass"))
                elif op == 0x8B:  # LONG4
                    stack.append(int.from_bytes(self._bytes(self._int("<i")), "little",
                                                signed=True))
                elif op == 0x30:  # POP
                    stack.pop()
                elif op == 0x31:  # POP_MARK
                    pop_mark()
                elif op == 0x32:  # DUP
                    stack.append(stack[-1])
                elif op == 0x80:  # PROTO
                    proto = self._bytes(1)[0]
                    if proto > pickle.HIGHEST_PROTOCOL:
                        raise UnpicklingError(f"pickle protocol {proto} is not known")
                elif op == 0x95:  # FRAME
                    self._bytes(8)
                elif op == 0x2E:  # STOP
                    if len(stack) != 1:
                        raise UnpicklingError("the pickled data leaves more than one object")
                    return stack.pop()
                else:
                    raise UnpicklingError(f"pickle opcode {op} is not read with weights_only=True")
            except (IndexError, KeyError, TypeError, struct.error, UnicodeDecodeError,
                    AttributeError) as error:
                if isinstance(error, (TypeError, AttributeError)) and op not in (
                        0x51, 0x73, 0x75, 0x90, 0x91, 0x93):
                    raise
                raise UnpicklingError(
                    f"the pickled data is damaged at opcode {op}: {error}") from error

    @staticmethod
    def _mapping(target):
        if type(target) not in (dict, collections.OrderedDict, collections.Counter):
            raise UnpicklingError(f"entries are set in a {type(target).__name__}")
        return target

    @staticmethod
    def _list(target):
        if type(target) is not list:
            raise UnpicklingError(f"items are appended to a {type(target).__name__}")
        return target

    def _string(self, data):
        return data if self.encoding == "bytes" else data.decode(self.encoding, "strict")

    def _new(self, cls, args, kwargs):
        if cls is torch.nn.Parameter:
            return torch.nn.Parameter(*args)
        if cls is torch.Size:
            return torch.Size(*args)
        if not (isinstance(cls, type) and (
                id(cls) in self.user or cls in (collections.OrderedDict, collections.Counter)
                or issubclass(cls, BaseException) and id(cls) in self.callable)):
            raise UnpicklingError(f"the file makes an object of {cls!r}, which is only done for "
                                  "types that you allowed")
        return cls.__new__(cls, *args, **kwargs)


def load(file, *, encoding="ASCII"):
    return Unpickler(file, encoding=encoding).load()


def get_globals_in_pkl(file):
    """The dotted names of everything a pickle looks up, without building anything."""
    import pickletools
    found, strings, memo = [], [], {}
    for op, arg, _ in pickletools.genops(file):
        if op.name == "GLOBAL":
            module, name = arg.split(" ", 1)
            found.append(f"{_TWO_TO_THREE.get(module, module)}.{name}")
        elif op.name == "STACK_GLOBAL":
            found.append(f"{_TWO_TO_THREE.get(strings[-2], strings[-2])}.{strings[-1]}")
        if isinstance(arg, str) and "UNICODE" in op.name:
            strings.append(arg)
        elif op.name == "MEMOIZE":
            memo[len(memo)] = strings[-1] if strings else ""
        elif op.name in ("BINPUT", "LONG_BINPUT"):
            memo[arg] = strings[-1] if strings else ""
        elif op.name in ("BINGET", "LONG_BINGET") and arg in memo:
            strings.append(memo[arg])
    return found


def unsafe_globals_in_pkl(file):
    """Those of `get_globals_in_pkl` that loading with weights_only=True refuses."""
    allowed = {**_default_allowed(), **_user_allowed()}
    return sorted({name for name in get_globals_in_pkl(file) if name not in allowed})
