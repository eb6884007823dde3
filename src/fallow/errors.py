"""The error for input that breaks a rule."""


class InputError(ValueError):
    """An argument, an option, a file or a request breaks a rule, and can be corrected.

    Only these errors are the caller's: the command line prints one line and ends with exit code 2,
    and the service answers 422. Every other error is a fault of the program.

    Parameters
    ----------
    argument
        What is wrong, by the name that the caller knows it by.
    rule
        What it must be, beginning with "must".
    value
        What it is, as text; empty where the rule says enough.

    Examples
    --------
    >>> print(InputError("delays", "must be >= 1", "0 for arm 3"))
    delays must be >= 1, got 0 for arm 3
    """

    def __init__(self, argument: str, rule: str, value: str = "") -> None:
        super().__init__(argument, rule, value)
        self.argument, self.rule, self.value = argument, rule, value

    def __str__(self) -> str:
        got = f", got {self.value}" if self.value else ""
        return f"{self.argument} {self.rule}{got}"
