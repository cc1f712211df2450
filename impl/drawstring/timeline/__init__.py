"""The timeline: loading it, and moving instants through their states."""
