"""The others: what the benchmarks of training compare with, each in a process of its own."""
