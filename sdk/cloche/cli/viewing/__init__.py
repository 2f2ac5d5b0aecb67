"""A console, or the recording of one, in this terminal.

    what the guest wrote ► filtering (sequences) ► passed through, or painted where the sizes differ
    what is typed        ► typing (the way out, a watcher's keys) ► the console

Rule: what a guest writes may appear in a person's terminal; it may not make that terminal do anything else.
"""
