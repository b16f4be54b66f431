"""`python -m sglang_v14.upgrade CHECKPOINT OUT`"""

import typer

from .command import upgrade

if __name__ == "__main__":
    typer.run(upgrade)
