"""The dashboard in one tab: the server runs it, with the way it was started as JSON."""

import json
import sys

from cloche_tui.start import Start, start_dashboard

sys.exit(start_dashboard(Start(**json.loads(sys.argv[1]))))
