"""The agent: the program in the virtual machine that carries out what the hub asks for.

It is the machine's first process, a plain epoll loop on `cloche_wire`'s core. Everything here serves three wishes:
that nothing a user runs can stop it, that a command starts as fast as the kernel can start one, and that it costs
nothing while it waits.
"""

__version__ = "0.1.0"
