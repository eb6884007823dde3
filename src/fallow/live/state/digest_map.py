"""Whole numbers by name, of which only a digest is kept."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from_bytes = int.from_bytes
MOST_TOGETHER = 1024
"""Names in one chunk, before it is split in two."""


class DigestMap:
    """A number below 2^32 for each name, in 13 bytes a name, however long names are.

    Names are known by 64 bits of BLAKE2b, sorted in chunks. So two names are taken for one with a
    chance of 3e-8 among a million names, and a new name never takes long.

    Examples
    --------
    >>> users = DigestMap()
    >>> users.put("ann", 7)
    >>> users.get("ann"), users.get("ben"), len(users)
    (7, None, 1)
    """

    def __init__(self) -> None:
        self._firsts = [0]
        self._digests = [array("Q")]
        self._numbers = [array("I")]
        self._length = 0

    @classmethod
    def of(cls, digests: npt.NDArray[np.uint64], numbers: npt.NDArray[np.uint32]) -> DigestMap:
        """Return the names with these digests, which are in order."""
        names = cls()
        names._length = len(digests)
        starts = range(0, max(len(digests), 1), MOST_TOGETHER)
        names._digests = [array("Q", digests[at : at + MOST_TOGETHER].tobytes()) for at in starts]
        names._numbers = [array("I", numbers[at : at + MOST_TOGETHER].tobytes()) for at in starts]
        names._firsts = [0, *(each[0] for each in names._digests[1:])]
        return names

    def __len__(self) -> int:
        return self._length

    def get(self, name: str) -> int | None:
        """Return the number of a name, None if it has none."""
        _, chunk, index, is_known = self._find(name)
        return self._numbers[chunk][index] if is_known else None

    def setdefault(self, name: str, number: int) -> int:
        """Return the number of a name, which gets this one if it has none."""
        digest, chunk, index, is_known = self._find(name)
        if is_known:
            return self._numbers[chunk][index]
        self._digests[chunk].insert(index, digest)
        self._numbers[chunk].insert(index, number)
        self._length += 1
        if len(self._digests[chunk]) > MOST_TOGETHER:
            self._split(chunk)
        return number

    def put(self, name: str, number: int) -> None:
        """Set the number of a name."""
        if self.setdefault(name, number) != number:
            _, chunk, index, _ = self._find(name)
            self._numbers[chunk][index] = number

    def _find(self, name: str) -> tuple[int, int, int, bool]:
        """Return the digest of a name, its chunk, its index there, and whether it is there."""
        digest = from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
        chunk = bisect_right(self._firsts, digest) - 1
        digests = self._digests[chunk]
        index = bisect_left(digests, digest)
        return digest, chunk, index, index < len(digests) and digests[index] == digest

    def _split(self, chunk: int) -> None:
        half = MOST_TOGETHER // 2
        digests, numbers = self._digests[chunk], self._numbers[chunk]
        self._firsts.insert(chunk + 1, digests[half])
        self._digests[chunk : chunk + 1] = digests[:half], digests[half:]
        self._numbers[chunk : chunk + 1] = numbers[:half], numbers[half:]

    def digests(self) -> npt.NDArray[np.uint64]:
        """Return the digests of all names, in order."""
        return np.frombuffer(b"".join(self._digests), np.uint64)

    def numbers(self) -> npt.NDArray[np.uint32]:
        """Return the numbers of all names, in the order of `digests`."""
        return np.frombuffer(b"".join(self._numbers), np.uint32)
