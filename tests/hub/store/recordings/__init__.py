"""Tests of the recordings: masking, the text, its files and rows."""
