"""Whole views of the dashboard: each shows a part of the model and does the actions of its own."""
