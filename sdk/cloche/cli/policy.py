"""`cloche policy show | check | reload`: what may leave sandboxes."""

from __future__ import annotations

import json as json_
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloche.cli import options
from cloche.cli.output import clean, clean_line, properties, show, show_json
from cloche.errors import BadRequest
from cloche.messages import as_json

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts
    from cloche.policy_messages import PolicyChecked, PolicyInfo

_MAX_TEXT = 1 << 20
"""Characters; more than any hub takes."""


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="See what may leave sandboxes, and try other rules.", no_args_is_help=True)
    group.command("show")(show_policy)
    group.command("check")(check)
    group.command("reload")(reload)
    app.add_typer(group, name="policy")


def show_policy(json: options.JsonOption = False) -> int:
    """Show the policy in force.

    \b
    Examples:
      cloche policy show
      cloche policy show --json | jq -r .text > policy.toml
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        policy = await hub.policy.show()
        if json:
            show_json(policy)
        else:
            everything = "everything is denied\n\n" if _denies_everything(policy) else ""
            show(f"{everything}{_summary(policy)}\n\n{clean(policy.text)}".rstrip())

    return with_hub(work)


def check(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The policy; `-` is standard input.", show_default=False)
    ],
    method: Annotated[
        str | None, typer.Option("--method", "-m", metavar="METHOD", help="Say what becomes of this call.")
    ] = None,
    params: Annotated[
        str | None, typer.Option("--params", metavar="JSON", help="Its parameters; null if not given.")
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="OWNER", help="Whose sandbox calls; yours if not given.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="KEY=VALUE", help="A label of the sandbox. Repeatable."),
    ] = None,
    json: options.JsonOption = False,
) -> int:
    """Check a policy, and what it says of a call. Changes nothing.

    \b
    Examples:
      cloche policy check policy.toml
      cloche policy check policy.toml --method pay.send --params '{"amount": 20}' --owner alice -l team=ml
    """
    from cloche.cli.session import with_hub

    if method is None and (params is not None or owner is not None or label):
        raise typer.BadParameter(
            "give it, too: the call's other properties say nothing without it", param_hint="--method"
        )
    value, labels, text = _json(params), options.parse_labels(label), _read(file)

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        checked = await hub.policy.check(text, method=method, params=value, owner=owner, labels=labels)
        if json:
            show_json(checked)
        if not checked.ok:
            raise BadRequest("\n".join([f"the policy {file} cannot be used:", *checked.problems]))
        if not json:
            show(_told(checked))

    return with_hub(work)


def reload(json: options.JsonOption = False) -> int:
    """Have the hub read its policy again.

    One that is wrong changes nothing. What comes into force is in the audit.

    \b
    Examples:
      cloche policy reload
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        try:
            policy = await hub.policy.reload()
        except BadRequest as error:
            raise BadRequest(f"the old policy stays in force: {error.message}") from None
        if json:
            show_json(policy)
        else:
            show(f"in force: {_count(policy.rules)} from {clean_line(policy.source)}, sha256 {policy.digest}")

    return with_hub(work, start=False)


def _denies_everything(policy: PolicyInfo) -> bool:
    """Whether no call can pass, nor wait for anybody. A hub whose policy cannot be used has none of any text."""
    import tomllib

    try:
        read = tomllib.loads(policy.text)
        verdicts = [read.get("default", "deny"), *(rule.get("verdict") for rule in read.get("rule", ()))]
    except (ValueError, AttributeError, TypeError):
        return False  # of a form that a newer hub may know
    return all(verdict == "deny" for verdict in verdicts)


def _summary(policy: PolicyInfo) -> str:
    pairs = [
        ("source", policy.source),
        ("rules", str(policy.rules)),
        ("loaded", str(as_json(policy.loaded_at))),
        ("sha256", policy.digest),
    ]
    return properties([*pairs, ("error", policy.error)] if policy.error else pairs)


def _told(checked: PolicyChecked) -> str:
    lines = [f"{_count(checked.rules)}, no problems"]
    if checked.verdict is not None and checked.rule is not None:
        by = "by default" if checked.rule == "default" else f"by rule {checked.rule!r}"
        lines.append(f"{checked.verdict} {by}" + (f": {checked.reason}" if checked.reason else ""))
    if checked.deadline_s is not None:
        lines.append(f"unless somebody decides within {checked.deadline_s:g} s: {checked.on_deadline}")
    return "\n".join(map(clean_line, lines))


def _count(rules: int) -> str:
    return "1 rule" if rules == 1 else f"{rules} rules"


def _json(text: str | None) -> Any:
    try:
        return None if text is None else json_.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"that is no good JSON: {error}", param_hint="--params") from None


def _read(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.read(_MAX_TEXT)
        with Path(file).open(encoding="utf-8") as opened:
            return opened.read(_MAX_TEXT)
    except UnicodeDecodeError:
        raise BadRequest(f"{file} is no text in UTF-8") from None
