"""Questions that have the screen to themselves until they are answered."""
