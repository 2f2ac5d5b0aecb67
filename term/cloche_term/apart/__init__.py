"""Terminals in processes of their own: what is fed to one can cost that one, and nobody else.

    who shows them ── zygote ──► a process ── forks ──► worker: one terminal
              └────────── frames, over a socket ───────────┘

`terminals` is what is used: `async with open_terminals() as terminals`. Nothing is imported here, since the processes
would have to carry it.
"""
