"""The whole live service from one seed: clock, threads, network, store and failures are simulated.

What is simulated is handed in; the code under test is the real one, from the HTTP application down
to the contract of the stores. `world` has the processes, clients and failures, `oracle` knows what
must hold, `faults` puts known bugs back to see that they are found.
"""
