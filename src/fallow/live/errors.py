"""What a campaign refuses, beside arguments that break a rule."""


class UnknownError(LookupError):
    """There is no such campaign, decision or arm."""

    def __str__(self) -> str:
        return str(self.args[0])


class ConflictError(ValueError):
    """What is asked contradicts what was said before, or the rules leave no arm."""
