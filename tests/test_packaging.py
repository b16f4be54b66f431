"""What an installation that is not editable holds."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_package_is_installed() -> None:
    """A folder of modules that the list leaves out is missed only by those who install a wheel."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {str(ROOT / folder): name for name, folder in setuptools["package-dir"].items()}
    found = set()
    for folder, name in folders.items():
        for init in Path(folder).rglob("__init__.py"):
            found.add(".".join((name, *init.parent.relative_to(folder).parts)))
    assert found and found == set(setuptools["packages"]) | {"sglang_v14"}
