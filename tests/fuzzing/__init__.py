"""Fuzzers: what others may have written, changed at random, read and then used.

Each module but these has a function `case(generator, folder)` that makes one input from the random
generator, reads it and, if it was read, uses it a little. It returns "read" or "refused"; whatever
else it raises is a fault. `runner` plays cases in a process with limits.
"""
