"""What a campaign may be told, and that it is opened as it was made."""

from pathlib import Path
from typing import Any

import pytest
from test_campaign import ARMS, opened

from fallow.live import Campaign, ConflictError, UnknownError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arms": []}, "arms must be at least one, and each once, got none"),
        ({"arms": ["a", "a"]}, "got 'a' twice"),
        ({"max_delay": 0}, "max_delay must be"),
        ({"max_delay": None}, "max_delay must be given with arms, got None"),
        ({"clock": "days"}, "clock must be"),
        ({"explore": 2}, "explore must"),
        ({"default_reward": 0.0}, "wait must be given with default_reward"),
        ({"default_reward": 2.0, "wait": 1}, "default_reward must"),
        ({"wait": -1}, "wait must"),
        ({"rules": {"cooldown": 2}}, "a key of rules"),
        ({"rules": {"groups": {"a": ["hymn"]}}, "clock": "time"}, "never two in a row"),
    ],
)
def test_what_a_campaign_may_not_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        opened(**options)


@pytest.mark.parametrize("name", ["", "-a", "a/b", "a b", "ä", "a" * 101, 3])
def test_names_of_campaigns(name: Any) -> None:
    with pytest.raises(ValueError, match="the name of a campaign must be"):
        Campaign.open("memory:", name, arms=ARMS, max_delay=3)


def test_a_campaign_is_opened_as_it_was_made(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'live.db'}"
    with pytest.raises(UnknownError, match="name must be that of a campaign, got 'morning'"):
        Campaign.open(store, "morning")
    with Campaign.open(store, "morning", arms=ARMS, max_delay=3):
        pass
    with Campaign.open(store, "morning", arms=ARMS, max_delay=3) as campaign:
        assert repr(campaign) == "Campaign('morning', 3 arms, 0 users, 0 decisions)"
    with pytest.raises(ConflictError, match="settings of 'morning' must be those"):
        Campaign.open(store, "morning", arms=ARMS, max_delay=4)
    with pytest.raises(UnknownError, match="did you mean 'morning'"):
        Campaign.open(store, "mornin")
