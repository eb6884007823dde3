"""Planning in a thread of its own, so that no decision waits for it."""

from __future__ import annotations

from threading import Event, Lock, Thread

from fallow.live.desk import Desk
from fallow.live.policy import Policy


class Planner:
    """Renews the policy of a campaign when it is due.

    Parameters
    ----------
    desk
        Whose policy.
    lock
        Held while the desk is looked at or changed.
    """

    def __init__(self, desk: Desk, lock: Lock) -> None:
        self._desk, self._lock = desk, lock
        self._wanted, self._closed = Event(), False
        self._thread = Thread(target=self._work, name=f"plans of {desk.name}", daemon=True)
        self._thread.start()

    def want(self) -> None:
        """Say that a policy is due."""
        self._wanted.set()

    def close(self) -> None:
        """End the thread, when it is done with a plan that it has begun."""
        self._closed = True
        self._wanted.set()
        self._thread.join()

    def _work(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._closed:
                return
            with self._lock:
                view = self._desk.state.view()
                self._desk.is_due = False
            policy = Policy(view)
            with self._lock:
                self._desk.renew(policy)
