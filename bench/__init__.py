"""The benchmark: Readback beside its limit, its alternatives and the usual mocks.

`python -m bench.run` measures, `python -m bench.render` writes what was measured into
docs/performance.md and the README. Nothing here is imported by the product.
"""
