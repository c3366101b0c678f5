"""`torch.nn.modules`: every layer, loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module

# Which file defines which names; nothing is imported before a name is used.
_CONTENTS = {
    "activation": """
        Threshold ReLU RReLU Hardtanh ReLU6 Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU
        CELU SELU GLU GELU Hardshrink LeakyReLU LogSigmoid Softplus Softshrink
        MultiheadAttention PReLU Softsign Tanhshrink Softmin Softmax Softmax2d LogSoftmax""",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": """
        BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d
        SyncBatchNorm""",
    "channelshuffle": "ChannelShuffle",
    "container": "Container Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "conv": """
        Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d
        LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d""",
    "distance": "PairwiseDistance CosineSimilarity",
    "dropout": "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": """
        InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d
        LazyInstanceNorm3d""",
    "lazy": "",
    "linear": "Bilinear Identity LazyLinear Linear",
    "linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "loss": """
        L1Loss NLLLoss NLLLoss2d PoissonNLLLoss GaussianNLLLoss KLDivLoss MSELoss BCELoss
        BCEWithLogitsLoss HingeEmbeddingLoss MultiLabelMarginLoss SmoothL1Loss HuberLoss
        SoftMarginLoss CrossEntropyLoss LinearCrossEntropyLoss MultiLabelSoftMarginLoss
        CosineEmbeddingLoss MarginRankingLoss MultiMarginLoss TripletMarginLoss
        TripletMarginWithDistanceLoss CTCLoss""",
    "module": "Module",
    "normalization": "LocalResponseNorm CrossMapLRN2d LayerNorm GroupNorm RMSNorm",
    "padding": """
        CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d
        ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
        ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d""",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": """
        MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d
        AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d
        LPPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AdaptiveAvgPool1d
        AdaptiveAvgPool2d AdaptiveAvgPool3d""",
    "rnn": "RNNBase RNN LSTM GRU RNNCellBase RNNCell LSTMCell GRUCell",
    "sparse": "Embedding EmbeddingBag",
    "transformer": """
        Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer
        TransformerDecoderLayer""",
    "upsampling": "Upsample UpsamplingNearest2d UpsamplingBilinear2d",
    "utils": "",
}
_FILE_OF = {name: file for file, names in _CONTENTS.items() for name in names.split()}

__all__ = sorted(_FILE_OF)


def __getattr__(name):
    file = _FILE_OF.get(name)
    if file is not None:
        value = getattr(import_module(f"{__name__}.{file}"), name)
        globals()[name] = value
        return value
    if name in _CONTENTS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_FILE_OF, *_CONTENTS})
