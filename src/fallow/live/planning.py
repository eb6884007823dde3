"""Planning in a thread of its own, so that no decision waits for it."""

from __future__ import annotations

import logging
from threading import Condition, Lock, Thread

from fallow.live.desk import Desk

logger = logging.getLogger("fallow.live")


class Planner:
    """Renews the policy of a campaign when it is due.

    Parameters
    ----------
    desk
        Whose policy.
    lock
        Held by whoever looks at the desk or changes it.
    """

    def __init__(self, desk: Desk, lock: Lock) -> None:
        self._desk = desk
        self._changed = Condition(lock)
        self._is_closed = False
        self._thread = Thread(target=self._work, name=f"plans of {desk.name}", daemon=True)
        self._thread.start()

    def want(self) -> None:
        """Ask for a policy that is due, holding the lock; wait for one that is overdue."""
        self._changed.notify_all()
        while self._desk.is_overdue and not self._is_closed:
            self._changed.wait()

    def close(self) -> None:
        """End the thread, when it is done with a plan that it has begun."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()

    def _work(self) -> None:
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._desk.is_due or self._is_closed)
                if self._is_closed:
                    return
                make = self._desk.plan()
                self._changed.release()
                try:
                    policy = make()
                except Exception:  # a fault of the planner's, so go on as before
                    logger.exception("a plan could not be made")
                    policy = None
                finally:
                    self._changed.acquire()
                if policy is None:
                    self._desk.postpone()
                else:
                    self._desk.renew(policy)
                self._changed.notify_all()
