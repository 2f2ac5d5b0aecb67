"""The dashboard: every console live, no approval missed, none given by accident.

`cloche tui` starts it. It shows and asks; the hub decides. Nothing is imported here, since starting is to be quick.
"""
