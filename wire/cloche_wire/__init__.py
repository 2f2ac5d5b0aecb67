"""The protocol between clients, hub and agent: frames, channels, credit, resume.

`connection` is the protocol without I/O; `aio` drives it with asyncio; the agent in the VM drives it with epoll.
The specification is PROTOCOL.md beside this package.
"""

PROTOCOL_VERSION = 1
"""Raised when a frame changes in a way that an older peer would misread. Appending a field does not count."""
