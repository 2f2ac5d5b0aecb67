"""What the sandbox `invoices` runs in the pictures: it reads invoices and wants to pay one."""

import time

from cloche_callback import CallbackDenied, callback

BOLD, DIM, GREEN, YELLOW, PLAIN = "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[0m"
INVOICES = [
    ("2026-1041", "Nordlicht Hosting", 4200, "known payee"),
    ("2026-1042", "Papier & Mehr", 8790, "known payee"),
    ("2026-1043", "Blue Harbor Ltd", 312000, "first invoice of this payee"),
]

print(f"{BOLD}invoices{PLAIN}  {DIM}3 unread in inbox/{PLAIN}\n")
for number, payee, cents, note in INVOICES:
    colour = YELLOW if "first" in note else GREEN
    print(f"  {number}  {payee:<18} {cents / 100:>9.2f} EUR  {colour}{note}{PLAIN}")
    time.sleep(0.05)
print(f"\n{DIM}paying the one that is due today …{PLAIN}", flush=True)
try:
    callback(
        "pay.send",
        {
            "amount": 3120.00,
            "currency": "EUR",
            "to": {"name": "Blue Harbor Ltd", "iban": "DE02 1203 0000 0000 2020 51", "country": "DE"},
            "reference": "invoice 2026-1043",
            "due": "2026-11-30",
            "items": [
                {"text": "consulting, October", "hours": 24, "rate": 120.0},
                {"text": "travel", "amount": 240.0},
            ],
            "is_first_payment": True,
            "attachment": "JVBERi0xLjcKJeLjz9MKMSAwIG9iago8PC9UeXBlL0NhdGFsb2c+PgplbmRvYmoK" * 48,
        },
    )
except CallbackDenied as refusal:
    print(f"{YELLOW}not paid:{PLAIN} {refusal}")
else:
    print(f"{GREEN}paid{PLAIN}")
