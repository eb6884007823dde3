"""Pages on two real logs, which are not shipped: one whose arms were drawn at random, one not."""
