"""Pictures of every screen of the dashboard, in front of a real hub with real machines. `make screenshots` takes them."""
