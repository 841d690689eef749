"""`compliance status QUESTION` and `compliance doctor`: the commands of the person who watches. Output is French."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from compliance_pipelines.status import Question

out = Console(highlight=False, soft_wrap=True)
JsonOption = Annotated[bool, typer.Option("--json", help="Résultat en JSON.")]


def status(
    question: Annotated[Question, typer.Argument(help="Ce que l'on veut savoir de la dernière nuit stockée.")],
    as_json: JsonOption = False,
) -> None:
    """Répondre aux questions d'exploitation depuis les tables stockées et l'archive."""
    from compliance_pipelines.resources import archive_from_env
    from compliance_pipelines.settings import settings
    from compliance_pipelines.status import ask

    reply = ask(question, settings().home, archive_from_env)
    if as_json:
        out.print_json(json.dumps(reply.as_json(), ensure_ascii=False))
    else:
        for line in reply.lines_fr:
            out.print(escape(line))
    raise typer.Exit(reply.exit_code)


def doctor(
    as_json: JsonOption = False,
    write: Annotated[bool, typer.Option("--write", help="Essayer aussi les dépôts (objet verrouillé 5 min).")] = False,
) -> None:
    """Essayer chaque connexion et chaque droit configurés, et dire quoi faire."""
    from compliance_pipelines import doctor as checks

    found = checks.examine(write=write)
    if as_json:
        out.print_json(json.dumps(checks.as_json(found), ensure_ascii=False))
    else:
        for line in checks.lines_fr(found):
            out.print(escape(line))
    raise typer.Exit(checks.exit_code(found))
