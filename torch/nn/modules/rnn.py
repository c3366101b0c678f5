"""Recurrent networks and their cells."""

from __future__ import annotations

import math
import warnings

import torch
from torch.nn import init
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter
from torch.nn.utils.rnn import PackedSequence

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]


_rnn_tanh = torch.rnn_tanh
_rnn_relu = torch.rnn_relu
_gru = torch.gru
_lstm = torch.lstm
_rnn_tanh_cell = torch.rnn_tanh_cell
_rnn_relu_cell = torch.rnn_relu_cell
_lstm_cell = torch.lstm_cell
_gru_cell = torch.gru_cell


def _apply_permutation(tensor, permutation, dim=1):
    return tensor.index_select(dim, permutation)


def _autocast():
    enabled = getattr(torch, "is_autocast_enabled", None)
    return enabled is not None and enabled()


class RNNBase(Module):
    """What `RNN`, `LSTM` and `GRU` have in common: the parameters of `num_layers` layers, each
    in one or two directions.

    The parameters of layer k are weight_ih_lk (gates * hidden_size, its input), weight_hh_lk
    (gates * hidden_size, hidden or proj_size), bias_ih_lk, bias_hh_lk (gates * hidden_size) and
    with projections weight_hr_lk (proj_size, hidden_size); those of the reverse direction end in
    ``_reverse``. All are uniform in +-1 / sqrt(hidden_size) at first.
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        if (
            isinstance(dropout, bool)
            or not isinstance(dropout, (int, float))
            or not 0 <= dropout <= 1
        ):
            raise ValueError(f"dropout must be a probability between 0 and 1, but got {dropout!r}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout acts between layers, so it does nothing with num_layers=1", stacklevel=2
            )
        for name, value in (
            ("input_size", input_size),
            ("hidden_size", hidden_size),
            ("num_layers", num_layers),
        ):
            if not isinstance(value, int):
                raise TypeError(f"{name} must be an int, but got {type(value).__name__}")
        if hidden_size <= 0:
            raise ValueError(f"hidden_size must be positive, but got {hidden_size}")
        if num_layers <= 0:
            raise ValueError(f"num_layers must be positive, but got {num_layers}")
        if proj_size < 0:
            raise ValueError(f"proj_size must not be negative, but got {proj_size}")
        if proj_size >= hidden_size:
            raise ValueError(
                f"proj_size must be smaller than hidden_size {hidden_size}, but got {proj_size}"
            )
        gates = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}.get(mode)
        if gates is None:
            raise ValueError(
                f"mode must be 'LSTM', 'GRU', 'RNN_TANH' or 'RNN_RELU', but got {mode!r}"
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        directions = 2 if bidirectional else 1
        real = proj_size if proj_size > 0 else hidden_size
        self._flat_weights_names = []
        self._all_weights = []
        for layer in range(num_layers):
            for direction in range(directions):
                suffix = f"_l{layer}" + ("_reverse" if direction else "")
                width = input_size if layer == 0 else real * directions
                shapes = {
                    "weight_ih": (gates * hidden_size, width),
                    "weight_hh": (gates * hidden_size, real),
                }
                if bias:
                    shapes["bias_ih"] = shapes["bias_hh"] = (gates * hidden_size,)
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = []
                for name, shape in shapes.items():
                    setattr(
                        self,
                        name + suffix,
                        Parameter(torch.empty(shape, device=device, dtype=dtype)),
                    )
                    names.append(name + suffix)
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    def __setstate__(self, state):
        state = {k: v for k, v in state.items() if k not in ("_flat_weights", "_flat_weight_refs")}
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)
        if "all_weights" in state:
            self._all_weights = state["all_weights"]
        if self._all_weights and not isinstance(self._all_weights[0][0], str):
            return
        if "_flat_weights_names" not in self.__dict__:
            self._flat_weights_names = [name for names in self._all_weights for name in names]

    def flatten_parameters(self) -> None:
        """Nothing to do here: the kernels take the parameters as they are."""

    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    @property
    def all_weights(self):
        """The parameters of each layer and direction, as lists."""
        return [[getattr(self, weight) for weight in weights] for weights in self._all_weights]

    def check_input(self, input, batch_sizes) -> None:
        """ValueError or RuntimeError where the input does not fit."""
        weight = getattr(self, self._flat_weights_names[0])
        if input.dtype != weight.dtype and not _autocast():
            raise ValueError(f"the input is {input.dtype}, but the parameters are {weight.dtype}")
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(
                f"the input must have {expected} dimensions, but has shape {tuple(input.shape)}"
            )
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"the input's last dimension must be input_size {self.input_size}, but is "
                f"{input.size(-1)}"
            )

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape of the hidden state for `input`: (layers * directions, N, hidden)."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        real = self.proj_size if self.proj_size > 0 else self.hidden_size
        return self.num_layers * (2 if self.bidirectional else 1), batch, real

    def check_hidden_size(
        self, hx, expected_hidden_size, msg="the hidden state must have shape {}, but has {}"
    ):
        """RuntimeError where `hx` has another shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        """Raises where input or hidden state do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """The hidden state with its batch in the order of `permutation`."""
        return hx if permutation is None else _apply_permutation(hx, permutation)

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            s += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            s += f", num_layers={self.num_layers}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        if self.batch_first is not False:
            s += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            s += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            s += f", bidirectional={self.bidirectional}"
        return s

    # ---- the common part of the forward passes ------------------------------------------

    def _zeros(self, input, batch, size):
        n = self.num_layers * (2 if self.bidirectional else 1)
        return torch.zeros(n, batch, size, dtype=input.dtype, device=input.device)

    def _unpack(self, input):
        """(data, batch_sizes, sorted_indices, unsorted_indices, packed, batched)."""
        if isinstance(input, PackedSequence):
            return (*input, True, True)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__} needs an input of 2 (one sequence) or 3 (a batch) "
                "dimensions, but "
                f"got {input.dim()}: {tuple(input.shape)}"
            )
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        return input, None, None, None, False, batched

    def _batch(self, input, batch_sizes):
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0) if self.batch_first else input.size(1)

    def _hidden(self, hx, batched):
        """A hidden state of a batch, from one of a batch or of a single sequence."""
        expected = 3 if batched else 2
        if hx.dim() != expected:
            raise RuntimeError(
                f"for {'a batch' if batched else 'a single sequence'} the hidden state must have "
                f"{expected} dimensions, but has shape {tuple(hx.shape)}"
            )
        return hx if batched else hx.unsqueeze(1)

    def _call(self, op, input, batch_sizes, hx):
        if batch_sizes is None:
            return op(
                input,
                hx,
                self._flat_weights,
                self.bias,
                self.num_layers,
                self.dropout,
                self.training,
                self.bidirectional,
                self.batch_first,
            )
        return op(
            input,
            batch_sizes,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )

    def _output(self, output, batch_sizes, sorted_indices, unsorted_indices, packed, batched):
        if packed:
            return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return output if batched else output.squeeze(0 if self.batch_first else 1)

    def _forward_one_state(self, op, input, hx):
        data, batch_sizes, sorted_indices, unsorted_indices, packed, batched = self._unpack(input)
        if hx is None:
            hx = self._zeros(data, self._batch(data, batch_sizes), self.hidden_size)
        else:
            # The hidden state is permuted as the packed batch was sorted.
            hx = self.permute_hidden(self._hidden(hx, batched), sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, hidden = self._call(op, data, batch_sizes, hx)
        output = self._output(
            output, batch_sizes, sorted_indices, unsorted_indices, packed, batched
        )
        hidden = self.permute_hidden(hidden if batched else hidden.squeeze(1), unsorted_indices)
        return output, hidden


class RNN(RNNBase):
    """``h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)``, or relu, in layers.

    Args:
        input_size, hidden_size, num_layers (int): sizes.
        nonlinearity (str): ``tanh`` or ``relu``.
        bias (bool): whether there are biases.
        batch_first (bool): whether input and output are (N, L, *) instead of (L, N, *).
        dropout (float): of each layer's output but the last's, in training.
        bidirectional (bool): whether there is a second set of layers running backwards.

    Shapes: input (L, N, input_size), (L, input_size) or a PackedSequence; hidden state
    (layers * directions, N, hidden_size). Returns the output (L, N, directions * hidden_size)
    and the last hidden state.
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("only LSTM has projections: proj_size must not be given")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"nonlinearity must be 'tanh' or 'relu', but got {self.nonlinearity!r}"
            )
        super().__init__("RNN_TANH" if self.nonlinearity == "tanh" else "RNN_RELU", *args, **kwargs)

    def forward(self, input, hx=None):
        op = _rnn_tanh if self.mode == "RNN_TANH" else _rnn_relu
        return self._forward_one_state(op, input, hx)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014); arguments and shapes as in `RNN`.

    ``r, z = sigmoid(...)``, ``n = tanh(W_in x + b_in + r * (W_hn h + b_hn))``,
    ``h' = (1 - z) * n + z * h``; the gates are stacked in the order r, z, n.
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("only LSTM has projections: proj_size must not be given")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input, hx=None):
        return self._forward_one_state(_gru, input, hx)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); arguments as in `RNN`, and

        proj_size (int): the size that the hidden state is projected to (Sak et al., 2014), or 0.

    ``i, f, o = sigmoid(...)``, ``g = tanh(...)``, ``c' = f * c + i * g``, ``h' = o * tanh(c')``;
    the gates are stacked in the order i, f, g, o. The state is a pair: hidden (layers *
    directions, N, proj_size or hidden_size) and cell (layers * directions, N, hidden_size).
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        """The shape of the cell state for `input`: (layers * directions, N, hidden_size)."""
        n, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return n, batch, self.hidden_size

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "the hidden state hidden[0] must have shape {}, but has {}",
        )
        self.check_hidden_size(
            hidden[1],
            self.get_expected_cell_size(input, batch_sizes),
            "the cell state hidden[1] must have shape {}, but has {}",
        )

    def permute_hidden(self, hx, permutation):
        if permutation is None:
            return hx
        return _apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation)

    def forward(self, input, hx=None):
        data, batch_sizes, sorted_indices, unsorted_indices, packed, batched = self._unpack(input)
        if hx is None:
            batch = self._batch(data, batch_sizes)
            real = self.proj_size if self.proj_size > 0 else self.hidden_size
            hx = self._zeros(data, batch, real), self._zeros(data, batch, self.hidden_size)
        else:
            hx = tuple(self._hidden(h, batched) for h in hx)
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, h, c = self._call(_lstm, data, batch_sizes, hx)
        output = self._output(
            output, batch_sizes, sorted_indices, unsorted_indices, packed, batched
        )
        if not batched:
            h, c = h.squeeze(1), c.squeeze(1)
        return output, self.permute_hidden((h, c), unsorted_indices)


class RNNCellBase(Module):
    """The parameters of one recurrent step: weight_ih (chunks * hidden_size, input_size),
    weight_hh (chunks * hidden_size, hidden_size), bias_ih and bias_hh (chunks * hidden_size)."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        new = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(torch.empty((num_chunks * hidden_size, input_size), **new))
        self.weight_hh = Parameter(torch.empty((num_chunks * hidden_size, hidden_size), **new))
        if bias:
            self.bias_ih = Parameter(torch.empty(num_chunks * hidden_size, **new))
            self.bias_hh = Parameter(torch.empty(num_chunks * hidden_size, **new))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            s += f", nonlinearity={self.nonlinearity}"
        return s

    def reset_parameters(self) -> None:
        """Draws all parameters anew, uniform in +-1 / sqrt(hidden_size)."""
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    def _check(self, input, states):
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{name} needs an input of 1 or 2 dimensions, but got {input.dim()}: "
                f"{tuple(input.shape)}"
            )
        for state in states:
            if state.dim() not in (1, 2):
                raise ValueError(
                    f"{name} needs a hidden state of 1 or 2 dimensions, but got {state.dim()}: "
                    f"{tuple(state.shape)}"
                )
        return input.dim() == 2

    def _step(self, op, input, hx):
        batched = self._check(input, () if hx is None else (hx,))
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = torch.zeros(
                input.size(0), self.hidden_size, dtype=input.dtype, device=input.device
            )
        elif not batched:
            hx = hx.unsqueeze(0)
        ret = op(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return ret if batched else ret.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of `RNN`. Shapes: input (N, input_size) and state (N, hidden_size), or both
    without N, to the next state."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity == "tanh":
            return self._step(_rnn_tanh_cell, input, hx)
        if self.nonlinearity == "relu":
            return self._step(_rnn_relu_cell, input, hx)
        raise RuntimeError(f"nonlinearity must be 'tanh' or 'relu', but is {self.nonlinearity!r}")


class LSTMCell(RNNCellBase):
    """One step of `LSTM`. Shapes: input (N, input_size) and a pair of states (N, hidden_size),
    or all without N, to the next pair."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        batched = self._check(input, () if hx is None else hx)
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(
                input.size(0), self.hidden_size, dtype=input.dtype, device=input.device
            )
            hx = (zeros, zeros)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        h, c = _lstm_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of `GRU`. Shapes as in `RNNCell`."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step(_gru_cell, input, hx)
