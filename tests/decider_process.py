"""Decide for a few users that others decide for, too; then print what the campaign knows.

It prints "done", waits until others are done as well, and takes in their last events.
"""

import hashlib
import random
import sys

from fallow.live.campaign import Campaign


def main(url: str, seed: str, rounds: str) -> None:
    """Decide and report rewards, twice each."""
    generator = random.Random(seed)
    arms = ["hymn", "waltz", "polka"]
    with Campaign.open(url, "shared", arms=arms, max_delay=3, background=False) as campaign:
        for _ in range(int(rounds)):
            decision = campaign.decide(generator.choice("abc"))
            reward = generator.random()
            assert campaign.feedback(decision.id, reward) == "applied"
            assert campaign.feedback(decision.id, reward) == "duplicate"
        print("done", flush=True)
        sys.stdin.readline()
        campaign.retire_arm("polka")  # one of them does, and the other hears of it
        state = campaign._decider.state
        print(state.head, hashlib.sha256(state.to_bytes()).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
