"""What a campaign refuses, beside arguments that break a rule."""


class UnknownError(LookupError):
    """There is no such campaign, decision or arm."""

    def __str__(self) -> str:
        return str(self.args[0])


class ConflictError(ValueError):
    """What is asked contradicts what was said before, or the rules leave no arm.

    Attributes
    ----------
    retry_after
        Seconds after which the same request may succeed, where cool-downs leave no arm; else None.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
