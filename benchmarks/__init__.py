"""Benchmarks: one file a subject, each with a `main()` that prints figures and asserts nothing."""
