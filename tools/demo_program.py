"""What the demo runs in the virtual machine: it works for a moment, then asks for something that costs money."""

import os
import platform
import socket
import time

from cloche_callback import CallbackDenied, callback

print(
    f"guest: I am user {os.getuid()} on {socket.gethostname()}, Linux {platform.release()}, {os.cpu_count()} processor"
)
began = time.monotonic()
primes: list[int] = []
candidate = 2
while len(primes) < 3000:
    if all(candidate % prime for prime in primes if prime * prime <= candidate):
        primes.append(candidate)
    candidate += 1
print(f"guest: prime number {len(primes)} is {primes[-1]}, after {time.monotonic() - began:.1f} s")
print(f"guest: I would like to have {len(primes)} of them engraved", flush=True)
try:
    receipt = callback("shop.order", {"item": "brass plate with a prime number", "count": len(primes)})
except CallbackDenied as refusal:
    print(f"guest: then not: {refusal}")
else:
    print(f"guest: the shop says: {receipt}")
