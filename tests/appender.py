"""Append decisions for ever, each for a user of its own, and print the last one that is safe.

With "early" it is called safe before it is: what a store must not do.
"""

import random
import sys

from fallow.live.events import DECISION, Event
from fallow.live.stores import EventBatch, StoreError, open_store


def main(url: str, durable: str, early: str) -> None:
    """Append to a store; what could not be kept is tried again."""
    store = open_store(url, durable == "durable")
    record = store.create("kills", "{}")[0]
    head, checksum = record.head, record.checksum
    assert checksum is not None
    generator = random.Random(head)
    last = head
    while True:
        first, last = last + 1, last + generator.randint(1, 20)
        users = map(str, range(first, last + 1))
        events = [Event(DECISION, 0.5, user=user) for user in users]
        if early == "early":
            print(last, flush=True)
        while True:
            try:
                (kept,) = store.append([EventBatch(record.number, head, checksum, events)])
            except StoreError:
                continue
            break
        # Events of a batch that seemed lost come as news, and get in the way of their repetition.
        checksum = kept.checksum
        head += len(kept.news) + len(events) - kept.numbers.count(None)
        print(last, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
