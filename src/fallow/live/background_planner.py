"""Planning in a thread of its own, so that no decision waits for it."""

from __future__ import annotations

import logging
from threading import Condition, Lock, Thread

from fallow.live.decider import Decider

logger = logging.getLogger("fallow.live")


class BackgroundPlanner:
    """Renews the policy of a campaign when it is due.

    Parameters
    ----------
    decider
        Whose policy.
    lock
        Held while the decider is read or changed.
    """

    def __init__(self, decider: Decider, lock: Lock) -> None:
        self._decider = decider
        self._changed = Condition(lock)
        self._is_closed = False
        self._thread = Thread(target=self._work, name=f"plans of {decider.name}", daemon=True)
        self._thread.start()

    def want(self) -> None:
        """Ask for a policy that is due, holding the lock; wait for one that is overdue."""
        self._changed.notify_all()
        while self._decider.is_overdue and not self._is_closed:
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
                self._changed.wait_for(lambda: self._decider.is_due or self._is_closed)
                if self._is_closed:
                    return
                make = self._decider.plan()
                self._changed.release()
                try:
                    policy = make()
                except Exception:  # a fault of the planner's, so go on as before
                    logger.exception("a plan could not be made")
                    policy = None
                finally:
                    self._changed.acquire()
                if policy is None:
                    self._decider.postpone()
                else:
                    self._decider.renew(policy)
                self._changed.notify_all()
