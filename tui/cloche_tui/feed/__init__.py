"""Where the dashboard meets a hub: everything that waits for one is here."""
