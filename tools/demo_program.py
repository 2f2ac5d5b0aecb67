"""What the demo runs in the virtual machine: says where it is, then works for a moment and tells how far it is."""

import os
import platform
import socket
import time

print(
    f"I am user {os.getuid()} on {socket.gethostname()}, Linux {platform.release()}, {os.cpu_count()} processor"
)
began = time.monotonic()
primes: list[int] = []
candidate = 2
while len(primes) < 3000:
    if all(candidate % prime for prime in primes if prime * prime <= candidate):
        primes.append(candidate)
        if len(primes) % 1000 == 0:
            print(
                f"prime number {len(primes)} is {candidate}, after {time.monotonic() - began:.1f} s",
                flush=True,
            )
    candidate += 1
