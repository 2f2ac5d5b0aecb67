"""What the dashboard knows and shows, as plain values that change by plain calls. Pure: no Textual, no waiting, no clock."""
