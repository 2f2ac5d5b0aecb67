"""The dashboard in a browser on this machine: `server` has the tabs, `tab` is the dashboard's own end of one.

`python -m cloche_tui.serve JSON` is what runs in a tab. It loads nothing of the server, so nothing is imported here.
"""
