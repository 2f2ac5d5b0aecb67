"""`cloche create | ls | show | rm | logs`."""

from __future__ import annotations

import asyncio
import json
import os
import pty
from pathlib import Path

import pytest

from tests.sdk.cli.conftest import Cloche, start
from tests.support.local_hub import LocalHub


async def test_create_says_name_and_id(cloche: Cloche, hub: LocalHub) -> None:
    ran = await cloche("create", "--name", "box")
    assert (ran.status, ran.out) == (0, "box  sb_0001\n")
    assert ran.err == "cloche: making packages\ncloche: making template\n"


async def test_create_passes_on_everything_it_is_told(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_HERE", "yes")
    words = [
        "--recipe",
        "minimal",
        "--flavor",
        "large",
        "--env",
        "A=1",
        "-e",
        "FROM_HERE",
        "--label",
        "team=blue",
        "-l",
        "x=",
        "--lease",
        "1h30m",
        "--json",
    ]
    ran = await cloche("create", *words)
    assert ran.status == 0
    created = json.loads(ran.out)
    assert created["id"] == "sb_0001"
    assert {key: created[key] for key in ("recipe", "flavor", "env_names", "labels", "lease_s")} == {
        "recipe": "minimal",
        "flavor": "large",
        "env_names": ["A", "FROM_HERE"],
        "labels": {"team": "blue", "x": ""},
        "lease_s": 5400.0,
    }


async def test_create_passes_on_secrets_and_does_not_repeat_them(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "hunter22")
    ran = await cloche("create", "--secret", "API_TOKEN", "--secret", "OTHER=long enough", "--json")
    assert ran.status == 0
    assert hub.asked[-1][1]["secrets"] == {"API_TOKEN": "hunter22", "OTHER": "long enough"}
    assert "hunter22" not in ran.out + ran.err


async def test_create_that_fails_is_one_line(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    ran = await cloche("create", "--name", "box")
    assert (ran.status, ran.out) == (125, "")
    assert ran.err.splitlines()[-1] == "cloche: there is a sandbox 'box' already; choose another name"


async def test_ls_shows_a_line_a_sandbox(cloche: Cloche, hub: LocalHub) -> None:
    assert (await cloche("ls")).out.split() == [
        "NAME",
        "ID",
        "STATE",
        "RECIPE",
        "FLAVOR",
        "ACCEL",
        "CREATED",
        "EXPIRES",
    ]
    await cloche("create", "--name", "box")
    ran = await cloche("ls")
    assert ran.out.splitlines()[1].split()[:6] == ["box", "sb_0001", "running", "python", "small", "tcg"]


async def test_ls_in_json_is_a_list_of_sandboxes(cloche: Cloche, hub: LocalHub) -> None:
    assert json.loads((await cloche("ls", "--json")).out) == []
    await cloche("create", "--name", "box")
    assert json.loads((await cloche("ls", "--json", "--all")).out) == [hub.sandboxes["sb_0001"]]
    assert [params for kind, params in hub.asked if kind == "sandbox.list"] == [{"all": False}, {"all": True}]


async def test_show_has_everything_but_secrets(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box", "--env", "KEY=secret", "--label", "team=blue")
    ran = await cloche("show", "box")
    assert ran.status == 0
    for text in ("sb_0001", "running", "team=blue", "KEY", "clone 0.090 s", "1 h"):
        assert text in ran.out
    assert "secret" not in ran.out
    assert json.loads((await cloche("show", "sb_0001", "--json")).out)["env_names"] == ["KEY"]
    for command in (("show", "box", "--json"), ("ls", "--json"), ("rm", "box", "--json")):
        assert "secret" not in (await cloche(*command)).out


async def test_show_of_what_failed_says_why(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    hub.sandboxes["sb_0001"] |= {
        "state": "failed",
        "end_reason": "QEMU said \033[2J",
        "ended_at": "2026-01-02T03:04:05Z",
    }
    assert "failed (QEMU said \\x1b[2J)" in (await cloche("show", "box")).out


async def test_what_is_not_there_is_told(cloche: Cloche, hub: LocalHub) -> None:
    for command in (("show",), ("logs", "--boot"), ("rm",)):
        ran = await cloche(*command, "nosuch")
        assert (ran.status, ran.out, ran.err) == (
            125,
            "",
            "cloche: no sandbox 'nosuch'; `cloche ls` lists them\n",
        )


async def test_rm_removes_what_is_named(cloche: Cloche, hub: LocalHub) -> None:
    for name in ("a", "b", "c"):
        await cloche("create", "--name", name)
    ran = await cloche("rm", "a", "c")
    assert (ran.status, ran.out) == (0, "a\nc\n")
    assert [sandbox["name"] for sandbox in hub.sandboxes.values()] == ["b"]


async def test_rm_goes_on_after_one_that_is_not_there(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "a")
    ran = await cloche("rm", "nosuch", "a")
    assert (ran.status, ran.out) == (125, "a\n")
    assert "no sandbox 'nosuch'" in ran.err
    assert hub.sandboxes == {}


async def test_rm_all_removes_all(cloche: Cloche, hub: LocalHub) -> None:
    for name in ("a", "b"):
        await cloche("create", "--name", name)
    removed = json.loads((await cloche("rm", "--all", "--json")).out)
    assert [(info["name"], info["state"]) for info in removed] == [("a", "removed"), ("b", "removed")]
    assert hub.sandboxes == {}
    assert await cloche("rm", "--all") == (0, "", "")


async def test_labels_choose_what_is_listed_and_removed(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "a", "--label", "team=blue", "--label", "x=")
    await cloche("create", "--name", "b", "--label", "team=red")

    async def names(*words: str) -> list[str]:
        return [info["name"] for info in json.loads((await cloche("ls", "--json", *words)).out)]

    assert await names("-l", "team") == ["a", "b"]
    assert await names("-l", "team=blue") == ["a"]
    assert await names("-l", "team", "--label", "x=") == ["a"]
    assert await names("-l", "x=1") == []
    assert await cloche("rm", "-l", "team=red") == (0, "b\n", "")
    assert await names() == ["a"]
    assert (await cloche("ls", "-l", "=x")).status == 2


@pytest.mark.parametrize("words", [("--all", "-l", "a"), ("box", "-l", "a"), ()])
async def test_rm_wants_one_way_of_choosing(cloche: Cloche, hub: LocalHub, words: tuple[str, ...]) -> None:
    assert (await cloche("rm", *words)).status == 2


async def test_rm_of_names_and_all_at_once_is_refused(cloche: Cloche, hub: LocalHub) -> None:
    assert (await cloche("rm", "--all", "a")).status == 2


async def test_a_boot_log_goes_into_a_file_as_it_is(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    assert await cloche("logs", "box", "--boot") == (0, "Linux version 6.1\n\033[31mready\033[0m\n", "")


async def test_a_boot_log_cannot_paint_on_a_terminal(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    reader, terminal = pty.openpty()
    try:
        process = await start("logs", "box", "--boot", stdout=terminal)
        assert await process.wait() == 0
        assert os.read(reader, 4096) == b"Linux version 6.1\r\n\\x1b[31mready\\x1b[0m\r\n"
    finally:
        os.close(reader)
        os.close(terminal)
        await process.communicate()


async def test_the_only_log_needs_no_name(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    assert await cloche("logs", "box") == await cloche("logs", "box", "--boot")


async def test_an_empty_listing_on_a_terminal_says_what_to_do(hub: LocalHub) -> None:
    for command, said in ((("ls",), b"cloche create"), (("image", "ls"), b"cloche image build python")):
        reader, terminal = pty.openpty()
        try:
            process = await start(*command, stdout=terminal)
            async with asyncio.timeout(20):
                _, err = await process.communicate()
            assert said in err
        finally:
            os.close(reader)
            os.close(terminal)


async def test_what_a_sandbox_is_called_adds_no_line(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box", "--label", "a=b\nstate  running")
    hub.sandboxes["sb_0001"]["recipe"] = "x\n\ty"
    assert "x\\n\\ty" in (await cloche("ls")).out.splitlines()[1]
    assert "labels       a=b\\nstate  running\n" in (await cloche("show", "box")).out


async def test_a_wrong_token_is_one_line(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOCHE_TOKEN", "wrong")
    assert await cloche("ls") == (125, "", "cloche: the hub does not know this token\n")


async def test_a_hub_elsewhere_that_does_not_answer_is_one_line(
    cloche: Cloche, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOCHE_HUB", f"unix://{home}/none.sock")
    ran = await cloche("ls")
    assert (ran.status, ran.out) == (125, "")
    assert (
        ran.err
        == f"cloche: no hub answers at unix://{home}/none.sock (No such file or directory); is the address right?\n"
    )
