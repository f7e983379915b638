"""Tests of the benchmark: what it measures is real, and what its pages show."""
