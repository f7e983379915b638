"""What every folder of the probe uses: results, formatting, calls with a time limit."""

# As shells report a program that was stopped with Ctrl-C.
INTERRUPTED = 130
