"""How fast Cloche is, beside the bare limit of the same host, in one run, as ratios. `make bench` runs it.

*Bare* is the same guest work (restore, identity, exec) driven by a minimal blocking script over the same port:
without hub, client, database or audit. Machines are noisy, so ours and bare alternate and only ratios are judged.
"""
