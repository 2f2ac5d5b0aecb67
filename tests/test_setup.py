"""How a checkout is set up: `tools/setup.sh` on machines played by a folder of stand-in commands.

The stand-ins write down what they are asked to do; nothing here reaches the network or changes this machine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What the script may expect of a minimal Debian.
_PLAIN_COMMANDS = ("bash", "cat", "dirname", "env", "flock", "grep", "mkdir", "rm", "sha256sum", "tail")

_MACHINE_COMMANDS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "busybox": "busybox-static",
    "newuidmap": "uidmap",
    "tmux": "tmux",
}
_MACHINE_PACKAGES = ("qemu-system-x86", "qemu-utils", "mmdebstrap", "busybox-static", "uidmap", "tmux")

# Answers for an interpreter of the version in VERSION; `-m venv` makes an environment with the same answers.
_PYTHON = """
case "$*" in
  *sys.version.split*) echo "$VERSION in $HOME_OF" ;;
  *"sys.exit(not ("*) exec "$REAL_PYTHON" -I -S -c "import sys; sys.version_info = (${VERSION//./, }); ${!#}" ;;
  *python%d*) echo "python${VERSION%.*}" ;;
  *"import ensurepip"*) [ -e "$MACHINE/has-venv" ] ;;
  *find_spec*) true ;;
  "-m venv"*)
    record "python-$VERSION $*"
    folder=${!#}; rm -rf "$folder"; mkdir -p "$folder/bin"
    cat "$0" >"$folder/bin/python"; chmod +x "$folder/bin/python"
    echo "#!$folder/bin/python" >"$folder/bin/pip" ;;
  "-m pip"*) words="$*"; record "pip ${words#*--no-input }"; [ ! -e "$MACHINE/pip-fails" ] ;;
  *) echo "unexpected: $*" >&2; exit 64 ;;
esac
"""

_APT_GET = """
words="$*"
record "apt-get ${words##*Timeout=300 }"
case "$*" in
  *update) touch "$MACHINE/has-lists" ;;
  *install*) [ -e "$MACHINE/has-lists" ] && [ ! -e "$MACHINE/apt-fails" ] && touch "$MACHINE/has-venv" || { echo "apt says no"; exit 100; }
esac
"""


class FakeMachine:
    """A machine as `tools/setup.sh` sees it: the commands on its PATH, and a project checked out on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands = folder / "bin"
        self.project = folder / "project"
        self.commands.mkdir()
        for name in (*_PLAIN_COMMANDS, "chmod", "touch"):
            found = shutil.which(name)
            assert found, f"this host has no {name}"
            (self.commands / name).symlink_to(found)
        (self.project / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "tools/setup.sh", self.project / "tools/setup.sh")
        (self.project / "requirements.lock").write_text("one==1\n")
        (self.project / "pyproject.toml").write_text("[project]\n")
        self.add("uname", 'echo "x86_64"')
        self.add("id", 'echo "0"')
        self.add("ldd", 'echo "not a dynamic executable"; exit 1')
        self.add("apt-cache", '[ -e "$MACHINE/has-lists" ]')
        self.add("apt-get", _APT_GET)
        self.add_python("python3", "3.11.2")

    def add(self, name: str, script: str) -> None:
        """Puts a command on the PATH; `record WORDS` in its script writes down that it was called."""
        command = self.commands / name
        command.unlink(missing_ok=True)
        command.write_text(f'#!/bin/bash\nrecord() {{ echo "$*" >>"$MACHINE/calls"; }}\n{script}\n')
        command.chmod(0o755)

    def add_python(self, name: str, version: str) -> None:
        self.add(name, f"VERSION={version} HOME_OF=/opt/{version} REAL_PYTHON={sys.executable}\n{_PYTHON}")

    def add_everything(self) -> None:
        """Installs every system package."""
        for name in _MACHINE_COMMANDS:
            self.add(name, "")
        (self.folder / "has-venv").touch()

    def set_up(self, **environ: str) -> subprocess.CompletedProcess[str]:
        """Runs the script to its end."""
        env = {"PATH": str(self.commands), "MACHINE": str(self.folder), **environ}
        script = self.project / "tools/setup.sh"
        return subprocess.run([script], env=env, capture_output=True, text=True, timeout=30, check=False)

    def take_calls(self) -> list[str]:
        """What has been called since the last look, in order."""
        calls = self.folder / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        # A Debian host has this one; on others it is one package more.
        return [line.replace(" debian-archive-keyring", "") for line in lines]


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    """A fresh machine: python3 without its venv module, apt without lists, root."""
    return FakeMachine(tmp_path)


_INSTALL_LOCKED = [
    "pip install --require-hashes --requirement requirements.lock",
    "pip install --no-deps --no-build-isolation --editable .",
]


def _making_venv(machine: FakeMachine, version: str = "3.11.2") -> str:
    return f"python-{version} -m venv --clear {machine.project}/.venv"


def test_a_fresh_machine_gets_its_packages_and_an_environment_with_the_locked_ones(
    machine: FakeMachine,
) -> None:
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    packages = " ".join((*_MACHINE_PACKAGES, "python3.11-venv"))
    assert machine.take_calls() == [
        "apt-get update",
        f"apt-get install {packages}",
        _making_venv(machine),
        *_INSTALL_LOCKED,
    ]


def test_packages_are_named_before_they_are_installed(machine: FakeMachine) -> None:
    machine.add("apt-get", "exit 100")
    done = machine.set_up()
    assert done.returncode == 1
    for package in (*_MACHINE_PACKAGES, "python3.11-venv"):
        assert package in done.stderr.splitlines()[0]


def test_packages_come_without_recommended_ones(machine: FakeMachine) -> None:
    machine.add("apt-get", 'record "$*"; touch "$MACHINE/has-venv"')
    machine.set_up()
    installs = [call for call in machine.take_calls() if "qemu" in call]
    assert installs
    assert all(" --no-install-recommends " in call for call in installs)


def test_only_what_is_missing_is_installed(machine: FakeMachine) -> None:
    machine.add_everything()
    (machine.commands / "mmdebstrap").unlink()
    (machine.folder / "has-lists").touch()
    machine.set_up()
    assert machine.take_calls()[0] == "apt-get install mmdebstrap"


def test_a_second_run_does_nothing_and_says_nothing(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.set_up()
    machine.take_calls()
    done = machine.set_up()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.take_calls() == []


def test_an_environment_that_is_there_needs_no_venv_module(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.set_up()
    (machine.folder / "has-venv").unlink()
    machine.take_calls()
    machine.set_up()
    assert machine.take_calls() == []


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_a_changed_input_is_installed_into_the_environment_there_is(machine: FakeMachine, name: str) -> None:
    machine.add_everything()
    machine.set_up()
    machine.take_calls()
    with (machine.project / name).open("a") as file:
        file.write("# changed\n")
    machine.set_up()
    assert machine.take_calls() == _INSTALL_LOCKED


def test_an_environment_made_by_hand_is_used(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.set_up()
    machine.take_calls()
    (machine.project / ".venv/.made-by-setup").unlink()
    machine.set_up()
    assert machine.take_calls() == _INSTALL_LOCKED


def test_an_interrupted_run_is_finished_by_the_next(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.set_up()
    (machine.project / "requirements.lock").write_text("two==2\n")
    (machine.folder / "pip-fails").touch()
    assert machine.set_up().returncode == 1
    # Back to what was installed before: the environment is half changed all the same.
    (machine.project / "requirements.lock").write_text("one==1\n")
    (machine.folder / "pip-fails").unlink()
    machine.take_calls()
    assert machine.set_up().returncode == 0
    assert machine.take_calls() == _INSTALL_LOCKED


def test_a_half_made_environment_is_made_again(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.set_up()
    machine.take_calls()
    (machine.project / ".venv/bin/pip").unlink()
    machine.set_up()
    assert machine.take_calls() == [_making_venv(machine), *_INSTALL_LOCKED]


def test_a_moved_checkout_gets_a_new_environment(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.set_up()
    machine.take_calls()
    machine.project = machine.project.rename(machine.folder / "moved")
    machine.set_up()
    assert machine.take_calls() == [_making_venv(machine), *_INSTALL_LOCKED]


def test_old_package_lists_are_fetched_anew_and_the_packages_tried_again(machine: FakeMachine) -> None:
    machine.add("apt-cache", "true")
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    packages = " ".join((*_MACHINE_PACKAGES, "python3.11-venv"))
    install = f"apt-get install {packages}"
    assert machine.take_calls()[:3] == [install, "apt-get update", install]


def test_a_user_installs_through_sudo(machine: FakeMachine) -> None:
    machine.add("id", 'echo "1000"')
    machine.add("sudo", 'record "sudo"; "$@"')
    machine.add("true", "")
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    calls = machine.take_calls()
    assert [call.split()[0] for call in calls[:5]] == ["sudo", "sudo", "apt-get", "sudo", "apt-get"]
    assert calls[5:] == [_making_venv(machine), *_INSTALL_LOCKED]


@pytest.mark.parametrize("sudo", [None, "exit 1"], ids=["none", "refusing"])
def test_a_user_without_sudo_learns_what_an_administrator_must_run(
    machine: FakeMachine, sudo: str | None
) -> None:
    machine.add_everything()
    (machine.commands / "qemu-img").unlink()
    machine.add("id", 'echo "1000"')
    if sudo is not None:
        machine.add("sudo", sudo)
    done = machine.set_up()
    assert done.returncode == 1
    assert (
        "An administrator must run: apt-get install --no-install-recommends qemu-utils"
        in done.stderr.splitlines()[-1]
    )
    assert machine.take_calls() == []


def test_a_failure_of_apt_shows_its_last_words(machine: FakeMachine) -> None:
    (machine.folder / "apt-fails").touch()
    done = machine.set_up()
    assert done.returncode == 1
    assert "apt says no" in done.stderr
    assert not (machine.project / ".venv").exists()


def test_the_first_python_that_will_do_is_taken(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.add_python("python3", "3.14.1")
    machine.add_python("python3.12", "3.12.9")
    machine.set_up()
    assert machine.take_calls()[0] == _making_venv(machine, "3.12.9")


@pytest.mark.parametrize("version", ["3.10.4", "3.14.0", "2.7.18"])
def test_without_a_python_that_will_do_it_says_which_will(machine: FakeMachine, version: str) -> None:
    machine.add_python("python3", version)
    done = machine.set_up()
    assert done.returncode == 1
    assert f"Cloche needs Python 3.11, 3.12 or 3.13; python3 is {version}" in done.stderr
    assert machine.take_calls() == []


def test_a_named_python_is_used_even_if_there_is_an_environment_of_another(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.set_up()
    machine.take_calls()
    machine.add_python("python3.13", "3.13.0")
    machine.set_up(PYTHON="python3.13")
    assert machine.take_calls() == [_making_venv(machine, "3.13.0"), *_INSTALL_LOCKED]
    machine.set_up()
    assert machine.take_calls() == [], "without PYTHON, the environment that is there stays"


def test_a_busybox_with_libraries_is_not_enough(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.add("ldd", 'echo "libc.so.6 => /lib/libc.so.6"')
    (machine.folder / "has-lists").touch()
    machine.set_up()
    assert machine.take_calls()[0] == "apt-get install busybox-static"


def test_qemu_is_that_of_the_host_s_processor(machine: FakeMachine) -> None:
    machine.add_everything()
    machine.add("uname", 'echo "aarch64"')
    (machine.folder / "has-lists").touch()
    machine.set_up()
    assert machine.take_calls()[0] == "apt-get install qemu-system-arm"


def test_another_processor_is_refused_in_words(machine: FakeMachine) -> None:
    machine.add("uname", 'echo "riscv64"')
    done = machine.set_up()
    assert done.returncode == 1
    assert done.stderr == "setup: Cloche runs on x86_64 and aarch64 hosts; this one is riscv64.\n"
