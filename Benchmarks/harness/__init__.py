"""What Benchmarks/run.py is made of. Standard library only."""
