"""JSON as an option gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche.cli.json_text import read_json
from cloche.errors import BadRequest


def test_a_value_is_given_here_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "params.json").write_text('{"é": 1}')
    assert read_json('{"a": 1}') == {"a": 1}
    assert read_json(f"@{tmp_path}/params.json") == {"é": 1}
    with pytest.raises(OSError, match="No such file"):
        read_json(f"@{tmp_path}/none")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(BadRequest, match="no text in UTF-8"):
        read_json(f"@{tmp_path}/bytes")
