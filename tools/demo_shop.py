"""The demo's program on the host: runs code nobody trusts in a sandbox, and answers what that code asks for.

    demo_shop.py              shows here what the code shows
    demo_shop.py --console    runs it in a console, for those who look on

Rule: this is what a user of the SDK would write, and nothing else.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cloche import Hub
from cloche.callback_messages import CallbackCall

PROGRAM = Path(__file__).with_name("demo_program.py")

with Hub.connect() as hub:
    sandbox = hub.sandbox("demo")

    @sandbox.callback("shop.order")
    def order(call: CallbackCall) -> dict[str, object]:
        """Called only with what policy, or a person, has let pass."""
        print(f"host:  ordered: {call.params}", flush=True)
        return {"order": 1001, "count": call.params["count"]}

    if "--console" in sys.argv[1:]:
        sandbox.files.write("program.py", PROGRAM.read_bytes())
        with sandbox.console(["python3", "program.py"], name="program", keep=True) as console:
            sys.exit(console.wait().exit_code)

    with sandbox.exec(["python3", "-"], stdin=True) as process:
        process.feed(PROGRAM.read_bytes())
        for _stream, piece in process:
            sys.stdout.buffer.write(piece)
            sys.stdout.flush()
        sys.exit(process.wait().exit_code)
