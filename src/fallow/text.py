"""Text that users gave, where it is shown."""

from unicodedata import category

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of control and format characters, surrogates, and ends of lines."""


def visible(text: str) -> str:
    r"""Return text with its control characters written out, so that no terminal obeys them.

    Also those that change the direction of writing.

    Examples
    --------
    >>> print(visible("\x1b[31mred\n\u202e Zoë"))
    \x1b[31mred\n\u202e Zoë
    """
    if text.isprintable():
        return text
    return "".join(
        each.encode("unicode_escape").decode() if category(each) in HIDDEN else each
        for each in text
    )
