"""Tests of the benchmark: the model of a fleet, and the page that it writes."""
