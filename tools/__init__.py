"""What `make` runs: set-up, the lock, the demo."""
