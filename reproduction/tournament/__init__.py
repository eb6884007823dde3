"""Every learner on every family: where each stands, tuned and with the constants of its theory."""
