"""The dashboard: every console live, no approval missed, none given by accident.

`cloche tui` starts it. It shows and asks; the hub decides. Nothing but what is loaded anyway is imported here, since
starting is to be quick.
"""

import os

# Read by Textual when it is imported. Consoles keep a pace of their own; at Textual's usual one the echo of a key waits
# for up to two frames after something else on the screen has changed.
os.environ.setdefault("TEXTUAL_FPS", "200")
