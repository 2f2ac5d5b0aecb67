"""The command line. One module a group of commands; what several need is in the others.

    main ► sandboxes | run | exec | cp | files | hub | image | disk | audit | doctor | completion
         ► session | attach | progress ► options | output | failures

Rules:
- Standard output is for answers and for what commands in sandboxes write; everything said in passing goes to stderr.
- Whatever goes wrong is one clear line `cloche: …` that says what to do, and an exit status from `failures`.
- Nothing heavy is imported before it is needed: `--help` and completion must feel instant.
"""
