"""Long runs that try to make a store lose anything; each prints where it ran, N and the result."""
