#!/bin/bash
# Writes requirements.lock anew from pyproject.toml: one file for Python 3.11 to 3.13 and every platform, with hashes.
#
# Rule: nothing of this machine's own package settings may reach the lock, so the resolver reads no configuration and
# asks the public index only. Pass --upgrade to move to newer releases; without it, what is locked stays where it can.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

resolver=build/resolver
[ -x $resolver/bin/uv ] || { .venv/bin/python -m venv $resolver && $resolver/bin/pip install --quiet 'uv>=0.9,<1'; }

# The environment is emptied for the same reason; proxies and certificates are how the index is reached.
keep=$(env | grep -iE '^(https?_proxy|no_proxy|ssl_cert_file)=\S*$' || true)
# shellcheck disable=SC2086  # one word a variable
env -i HOME="$HOME" PATH="$PATH" $keep $resolver/bin/uv --no-config pip compile pyproject.toml \
  --extra hub --extra tui --extra dev --universal --python-version 3.11 --generate-hashes \
  --no-annotate --no-emit-index-url --custom-compile-command "make lock" --quiet --output-file requirements.lock "$@"
