"""Random input, most of it wrong; whatever does not end in a clear error is a fault.

`specs`, `instances` and `options` each have `case(generator, folder)`, which makes one case, runs
it, and returns "read" or "refused". An exception that escapes is a fault.
"""
