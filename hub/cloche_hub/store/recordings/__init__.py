"""Recordings as files and rows (`ports.Recordings`); `recordings.recordings` puts the parts together."""
