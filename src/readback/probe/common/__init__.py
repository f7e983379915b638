"""What every room of the probe uses: results, formatting, calls with a time limit."""
