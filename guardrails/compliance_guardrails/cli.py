"""The `compliance-guardrails` command: one table of subcommands, each loaded only when it is asked for.

To add one, add a line to COMMANDS: a name, a line of help, and "module:function", where the function
takes the remaining arguments and returns the exit code (0 in order, 1 the thing checked is not in order,
2 could not decide). No subcommand's own code lives here; what lives here is that nobody ever sees a
traceback.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TextIO, cast

from compliance_guardrails.policy.errors import PolicyError

EXIT_UNDECIDED: Final = 2


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand: `handler` is "package.module:function", with `function(argv: list[str]) -> int`."""

    name: str
    help: str
    handler: str

    def run(self, argv: list[str]) -> int:
        """Import the handler's module, call it, return its exit code."""
        module, _, function = self.handler.partition(":")
        handler = cast("Callable[[list[str]], int]", getattr(importlib.import_module(module), function))
        return handler(argv)


COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        "policy",
        "check, digest, schema, diff, revise: the policy folder",
        "compliance_guardrails.policy.cli:main",
    ),
    Command(
        "litellm-config",
        "the LiteLLM model_list and callbacks that match the policy",
        "compliance_guardrails.litellm_config:main",
    ),
    Command(
        "screen",
        "every detector on a text from the standard input, as JSON",
        "compliance_guardrails.detect.cli_screen:screen_main",
    ),
    Command(
        "explain",
        "what the detectors find in a text and why, in French",
        "compliance_guardrails.detect.cli_screen:explain_main",
    ),
    Command(
        "gate",
        "the counterfactual gate on a pairs file; gate calibrate: an encoder's floor",
        "compliance_guardrails.counterfactual.cli:main",
    ),
    Command(
        "pairs",
        "check: a file of counterfactual pairs, errors in French",
        "compliance_guardrails.counterfactual.cli:pairs_main",
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subcommand named first in `argv` (default: the process arguments) and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without UTF-8 shows escapes instead of stopping at the first accent.
        sys.stdout.reconfigure(errors="backslashreplace")
    if not arguments or arguments[0] in {"-h", "--help"}:
        _print_usage(sys.stdout if arguments else sys.stderr)
        return 0 if arguments else EXIT_UNDECIDED
    if arguments[0] == "--version":
        sys.stdout.write(f"compliance-guardrails {_version()}\n")
        return 0
    for command in COMMANDS:
        if command.name == arguments[0]:
            return _guarded(command, arguments[1:])
    sys.stderr.write(f"compliance-guardrails : commande inconnue « {arguments[0][:40]} »\n")
    _print_usage(sys.stderr)
    return EXIT_UNDECIDED


def _guarded(command: Command, argv: list[str]) -> int:
    """Run `command`; whatever goes wrong ends as one line on stderr and exit 2."""
    try:
        code = command.run(argv)
        sys.stdout.flush()
    except PolicyError as error:
        sys.stderr.write(f"{error.message_fr}\n")
        return EXIT_UNDECIDED
    except BrokenPipeError:
        # The reader (head, less) went away: not an error, but the interpreter must not flush into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_UNDECIDED
    except KeyboardInterrupt:
        return 130
    except SystemExit as stop:  # argparse: 0 after --help, 2 after a usage error
        return stop.code if isinstance(stop.code, int) else EXIT_UNDECIDED
    except Exception as error:  # noqa: BLE001 - the last resort: name the kind, show no text that may be confidential
        sys.stderr.write(f"compliance-guardrails {command.name} : {_unexpected(error)}\n")
        return EXIT_UNDECIDED
    return code


def _unexpected(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == "compliance_guardrails.counterfactual":
        return "installer compliance-guardrails-gate"  # the one part of the package that has a wheel of its own
    return f"erreur interne ({type(error).__name__})"


def _print_usage(stream: TextIO) -> None:
    write = stream.write
    write("usage: compliance-guardrails COMMAND [options]\n\ncommands:\n")
    for command in COMMANDS:
        write(f"  {command.name:<15} {command.help}\n")
    write("\nExit codes: 0 in order, 1 the thing checked is not in order, 2 could not decide.\n")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("compliance-guardrails")
    except PackageNotFoundError:
        return "0 (not installed)"


if __name__ == "__main__":
    sys.exit(main())
