"""The ``sglang-v14`` command."""

from __future__ import annotations

import typer

from sglang_v14.upgrade.command import upgrade

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Episodic memory for models served by SGLang.")

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.callback()
def root() -> None:
    """Episodic memory for models served by SGLang."""


@app.command("serve", context_settings=_PASS_ON, add_help_option=False)
def serve_command(context: typer.Context) -> None:
    """Start a server: every argument goes to `sglang serve`, with defaults for this machine where it has none."""
    from sglang_v14 import launch

    try:
        launch.serve(context.args)
    except launch.LaunchError as error:
        typer.echo(f"sglang-v14: {error}", err=True)
        raise typer.Exit(2) from error


app.command("upgrade")(upgrade)


def main() -> None:
    """The console entry point."""
    app()


if __name__ == "__main__":
    main()
