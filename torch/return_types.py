"""The named tuples that operators with several results return; each appears here when its operator is first used."""


def _text(result):
    """The text of such a tuple: each field on a line of its own."""
    fields = (f"{name}={value!r}" for name, value in zip(type(result).__match_args__, result))
    return f"torch.return_types.{type(result).__name__}(\n" + ",\n".join(fields) + ")"
