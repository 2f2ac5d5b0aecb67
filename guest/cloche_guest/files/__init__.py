"""Files for the hub: read and written in streams, listed in batches, and the small changes.

    service      which request starts what
    messages     requests as values               paths, refusals, entries     pure: names, errors, answers
    reading, listing, removal                     work in steps, a slice of the loop's time each (slices)
    replacing    a file's new content, all or nothing; writing feeds it from a stream
    changes      what is done at once

Rules:
- Everything is done as the sandbox's user (`users.acting_as`), so the kernel decides what is allowed.
- Nothing is hashed here: the hub sees the bytes pass, and has the faster processor.
"""
