"""What a build's output says about how far it is."""

from __future__ import annotations

from cloche_hub.images.build_progress import STAGES, BuildProgress
from cloche_hub.ports import Progress


def _follow(*lines: str) -> list[Progress]:
    progress = BuildProgress()
    return [step for line in lines if (step := progress.line(line))]


def test_each_stage_is_told_when_its_line_appears() -> None:
    steps = _follow("noise", "I: running apt-get update...", "I: downloading packages with apt...")

    assert steps == [
        Progress("index", "reading the mirror's package lists", 0.02),
        Progress("download", "downloading packages", 0.15),
    ]


def test_stages_are_in_the_order_of_their_shares() -> None:
    shares = [stage.begins_at for stage in STAGES]

    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1


def test_a_stage_grows_with_the_packages_it_planned() -> None:
    steps = _follow(
        "I: downloading packages with apt...",
        "0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.",
        "Get:1 http://m bookworm/main amd64 libc6 amd64 2.36 [1 kB]",
        "Get:2 http://m bookworm/main amd64 bash amd64 5.2 [1 kB]",
        "I: extracting archives...",
    )

    assert [step.fraction for step in steps] == [0.15, 0.18, 0.22, 0.22]


def test_without_a_plan_a_stage_grows_but_never_ends() -> None:
    steps = _follow("I: installing essential packages...", *(f"Unpacking p{n} (1) ..." for n in range(1000)))

    assert steps[0].fraction == 0.27
    assert steps[-1].fraction is not None
    assert 0.5 < steps[-1].fraction <= 0.55


def test_the_package_at_hand_is_named_without_its_architecture() -> None:
    steps = _follow(
        "I: installing remaining packages inside the chroot...", "Setting up libssl3:amd64 (3.0) ..."
    )

    assert steps[-1].message == "installing the recipe's packages: libssl3"


def test_the_fraction_never_goes_back() -> None:
    progress = BuildProgress()
    lines = [
        "I: downloading packages with apt...",
        *(f"Get:{n} x" for n in range(200)),
        "0 upgraded, 500 newly installed, 0 to remove",
        "Get:1 x",
        "I: extracting archives...",
    ]
    fractions = [step.fraction or 0 for line in lines if (step := progress.line(line))]

    assert fractions == sorted(fractions)


def test_a_line_of_an_earlier_stage_changes_nothing() -> None:
    assert len(_follow("I: extracting archives...", "I: running apt-get update...")) == 1


def test_a_step_that_says_nothing_new_is_not_told_again() -> None:
    assert len(_follow("I: extracting archives...", *["Get:1 x"] * 3)) == 1


def test_lines_before_the_first_stage_are_passed_over() -> None:
    assert _follow("Get:1 x", "Setting up a (1) ...", "3 upgraded, 2 newly installed") == []
