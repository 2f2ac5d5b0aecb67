"""Tests of the SDK, mirroring its source."""
