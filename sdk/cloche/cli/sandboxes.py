"""`cloche create | ls | show | rm | logs`: sandboxes themselves."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.complete import complete_sandboxes
from cloche.cli.failures import FAILED
from cloche.cli.output import (
    age,
    clean,
    clean_line,
    properties,
    say,
    show,
    show_bytes,
    show_json,
    show_table,
    span,
)
from cloche.errors import CodedError

if TYPE_CHECKING:
    from cloche.aio import Hub, Sandbox
    from cloche.cli.session import Interrupts
    from cloche.messages import SandboxInfo


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("create")(create)
    app.command("ls")(ls)
    app.command("show")(show_)
    app.command("rm")(rm)
    app.command("logs")(logs)


def create(
    recipe: options.RecipeOption = "python",
    flavor: options.FlavorOption = "small",
    name: options.NameOption = None,
    env: options.EnvOption = None,
    secret: options.SecretOption = None,
    label: options.LabelOption = None,
    lease: options.LeaseOption = None,
    json: options.JsonOption = False,
) -> int:
    """Create a sandbox.

    It stays until it is removed or its lease runs out. Builds the recipe's image first if there is none.

    \b
    Examples:
      cloche create --name box
      cloche create --flavor medium --lease 2h --label team=blue --env API=https://example.org
      id=$(cloche create --json | jq -r .id)
      API_TOKEN=… cloche create --name box --secret API_TOKEN
    """
    from cloche.cli.progress import shown_progress
    from cloche.cli.session import with_hub

    env_, labels, lease_s = options.parse_env(env), options.parse_labels(label), options.parse_lease(lease)
    secrets = options.parse_env(secret)

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        with shown_progress() as on_progress:
            sandbox = await hub.create(
                recipe,
                flavor,
                name=name,
                env=env_,
                labels=labels,
                lease_s=lease_s,
                secrets=secrets or None,
                on_progress=on_progress,
            )
        if json:
            show_json(sandbox.info)
        else:
            show(clean_line(f"{sandbox.name}  {sandbox.id}"))

    return with_hub(work)


def ls(
    all_: Annotated[bool, typer.Option("--all", "-a", help="Also those that have been removed.")] = False,
    label: options.LabelFilterOption = None,
    json: options.JsonOption = False,
) -> int:
    """List sandboxes.

    \b
    Examples:
      cloche ls
      cloche ls --label team=blue
      cloche ls --all --json
    """
    is_meant = options.label_filter(label)

    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        infos = [found.info for found in await hub.sandboxes(all=all_) if is_meant(found.info.labels)]
        if json:
            show_json(infos)
        else:
            _show_listing(infos)

    return with_hub(work)


def show_(sandbox: options.SandboxArgument, json: options.JsonOption = False) -> int:
    """Show everything about one sandbox.

    \b
    Examples:
      cloche show box
      cloche show box --json
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        info = (await hub.sandbox(sandbox)).info
        if json:
            show_json(info)
        else:
            show(_details(info))

    return with_hub(work)


def rm(
    sandboxes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SANDBOX...", help="Ids, names, or how they begin.", autocompletion=complete_sandboxes
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", "-a", help="Every sandbox this token may remove.")] = False,
    label: options.LabelFilterOption = None,
    json: options.JsonOption = False,
) -> int:
    """Remove sandboxes.

    Their machines end and their disks are deleted.

    \b
    Examples:
      cloche rm box
      cloche rm --label team=blue
      cloche rm --all
    """
    if [bool(sandboxes), all_, bool(label)].count(True) != 1:
        raise typer.BadParameter("give the sandboxes to remove, or --label, or --all")
    is_meant = options.label_filter(label)

    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> int:
        if sandboxes:
            return await _remove(hub, sandboxes, json=json)
        found = [one for one in await hub.sandboxes() if is_meant(one.info.labels)]
        return await _remove(hub, found, json=json)

    return with_hub(work)


async def _remove(hub: Hub, every: Sequence[Sandbox | str], *, json: bool) -> int:
    status = 0
    removed: list[SandboxInfo] = []
    for each in every:
        try:
            sandbox = await hub.sandbox(each) if isinstance(each, str) else each
            removed.append(await sandbox.remove())
        except CodedError as error:
            # One that is gone must not keep the others.
            say(error.message)
            status = FAILED
            continue
        if not json:
            show(clean_line(sandbox.name))
    if json:
        show_json(removed)
    return status


def logs(
    sandbox: options.SandboxArgument,
    _boot: Annotated[
        bool,
        typer.Option(
            "--boot", help="The serial console: what the kernel and the agent said. The only one so far."
        ),
    ] = True,
) -> int:
    """Show what a sandbox's machine has said.

    The guest wrote it: a terminal gets it with everything unprintable made visible, a file or a pipe as it is.

    \b
    Examples:
      cloche logs box
      cloche logs box --boot > boot.log
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        log = await (await hub.sandbox(sandbox)).boot_log()
        if sys.stdout.isatty():
            show(clean(log.decode(errors="replace").replace("\r\n", "\n").rstrip("\n")))
        else:
            show_bytes(log)

    return with_hub(work)


def _show_listing(infos: Sequence[SandboxInfo]) -> None:
    rows = [
        (
            info.name,
            info.id,
            info.state,
            info.recipe,
            info.flavor,
            info.accelerator or "-",
            age(info.created_at),
            age(info.expires_at) if info.ended_at is None else "-",
        )
        for info in infos
    ]
    headings = ("NAME", "ID", "STATE", "RECIPE", "FLAVOR", "ACCEL", "CREATED", "EXPIRES")
    show_table(headings, rows, free=("NAME", "RECIPE"), if_empty="no sandboxes; to make one: cloche create")


def _details(info: SandboxInfo) -> str:
    pairs = [
        ("name", info.name),
        ("id", info.id),
        ("state", info.state + (f" ({info.end_reason})" if info.end_reason else "")),
        ("recipe", info.recipe),
        ("flavor", info.flavor),
        ("image", info.image or "-"),
        ("accelerator", info.accelerator or "-"),
        ("owner", info.owner),
        ("created", age(info.created_at)),
        ("lease", span(info.lease_s)),
        ("expires", age(info.expires_at) if info.ended_at is None else "-"),
        ("labels", _assignments(info.labels) or "-"),
        ("env", ", ".join(info.env_names) or "-"),
        ("timings", ", ".join(f"{step} {seconds:.3f} s" for step, seconds in info.timings.items()) or "-"),
    ]
    return properties(pairs)


def _assignments(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(values.items()))
