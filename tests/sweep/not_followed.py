"""What the compiler does not follow in any case of its record, with the reason."""

NOT_FOLLOWED = {}
