"""What differs between processor architectures."""

from __future__ import annotations

import pytest

from cloche_hub.errors import Unsupported
from cloche_hub.images.arches import host_arch


@pytest.mark.parametrize(
    ("machine", "debian", "kernel"),
    [("x86_64", "amd64", "linux-image-cloud-amd64"), ("aarch64", "arm64", "linux-image-cloud-arm64")],
)
def test_both_architectures_have_debian_s_names(machine: str, debian: str, kernel: str) -> None:
    arch = host_arch(machine)

    assert (arch.debian, arch.kernel_package) == (debian, kernel)


def test_another_architecture_is_refused_with_those_supported() -> None:
    with pytest.raises(Unsupported, match="riscv64; supported are aarch64, x86_64"):
        host_arch("riscv64")
