"""Placeholders for kernels that exist only in compiled form."""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn

_PACKAGE = __package__ or "sgl_kernel"


class MissingKernel:
    """Can be imported, looked into and compared; raises ``NotImplementedError`` with its name when called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> "MissingKernel":
        return placeholder(self._name, attribute)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(f"the CPU engine has no kernel {self._name}")

    def __repr__(self) -> str:
        return f"<missing kernel {self._name}>"


def placeholder(owner: str, name: str) -> MissingKernel:
    """The placeholder of ``owner.name``; private names do not exist, so Python's own probing is answered truthfully.

    Raises:
        AttributeError: for a name that starts with an underscore.
    """
    if name.startswith("_"):
        raise AttributeError(f"{owner} has no attribute {name}")
    return MissingKernel(f"{owner}.{name}")


class _MissingModule(ModuleType):
    def __getattr__(self, name: str) -> MissingKernel:
        return placeholder(self.__name__, name)


class _MissingModuleFinder(MetaPathFinder, Loader):
    """Serves every sub-module of the package that is not a file, as a module full of placeholders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{_PACKAGE}."):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _MissingModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: the placeholders are made when they are asked for."""


def install_finder() -> None:
    """Put the finder behind all others, so that real files win."""
    if not any(isinstance(finder, _MissingModuleFinder) for finder in sys.meta_path):
        sys.meta_path.append(_MissingModuleFinder())
