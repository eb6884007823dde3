"""The paper, reproduced: its experiments and claims, the tournament, and the pages about them."""
