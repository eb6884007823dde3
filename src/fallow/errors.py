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

    def at(self, place: object) -> "InputError":
        """Return the error with the place in front, such as a file, where the argument stands.

        Examples
        --------
        >>> print(InputError("delays", "must be >= 1", "0").at("songs.toml"))
        songs.toml: delays must be >= 1, got 0
        """
        return InputError(f"{place}: {self.argument}", self.rule, self.value)

    def with_advice(self, advice: str) -> "InputError":
        """Return the error with what to do at its end.

        Examples
        --------
        >>> print(InputError("delays", "must be >= 1", "0").with_advice("give larger ones"))
        delays must be >= 1, got 0; give larger ones
        """
        if self.value:
            return InputError(self.argument, self.rule, f"{self.value}; {advice}")
        return InputError(self.argument, f"{self.rule}; {advice}")
