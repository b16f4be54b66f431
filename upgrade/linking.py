"""Puts a checkpoint's files into the new directory: links for the weights, copies for the rest."""

import errno
import os
import shutil
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from .errors import UpgradeError

# Room for configuration, tokenizer, bank and card beside the weights.
_SPARE_BYTES = 64 << 20


class Link(StrEnum):
    """How the weights get into the new directory."""

    HARDLINK = "hardlink"
    SYMLINK = "symlink"
    COPY = "copy"


def place(source: Path, directory: Path, link: Link) -> None:
    """Link or copy one file under its own name into `directory`. What a symbolic link points to is taken, not the link.

    Raises `UpgradeError` when hard links cannot be made between the two places.
    """
    origin, target = source.resolve(), directory / source.name
    if link is Link.COPY:
        shutil.copyfile(origin, target)
    elif link is Link.SYMLINK:
        target.symlink_to(origin)
    else:
        try:
            os.link(origin, target)
        except OSError as error:
            if error.errno not in {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP}:
                raise
            raise UpgradeError(
                f"{source} cannot be hard-linked into {directory.parent} ({error.strerror}); "
                "use --link symlink or --link copy."
            ) from None


def require_space(directory: Path, needed_bytes: int) -> None:
    """Raise `UpgradeError` when the file system of `directory` lacks room for `needed_bytes` and small files."""
    free = shutil.disk_usage(directory).free
    needed = needed_bytes + _SPARE_BYTES
    if free < needed:
        raise UpgradeError(
            f"{directory} has {free / 1e9:.1f} GB free and the upgrade needs {needed / 1e9:.1f} GB; free some space or "
            "choose another place."
        )


def share_readable(file: Path) -> None:
    """Give a file the mode that any new file gets; safetensors files are written for their owner alone."""
    mask = os.umask(0o077)
    os.umask(mask)
    file.chmod(0o666 & ~mask)


def total_bytes(files: Iterable[Path]) -> int:
    """The size of the files, links followed."""
    return sum(file.stat().st_size for file in files)
