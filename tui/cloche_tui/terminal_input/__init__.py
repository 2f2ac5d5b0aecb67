"""Keys as the terminal sends them, for a console that is driven."""
