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
    question: Annotated[
        Question | None, typer.Argument(help="Ce que l'on veut savoir de la dernière nuit stockée ; sans : tout.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Répondre aux questions d'exploitation depuis les tables stockées et l'archive."""
    from compliance_pipelines.resources import archive_from_env
    from compliance_pipelines.settings import settings
    from compliance_pipelines.status import ask

    asked = list(Question) if question is None else [question]
    replies = [ask(one, settings().home, archive_from_env) for one in asked]
    codes = {reply.exit_code for reply in replies}
    # as for the doctor: what is known to be wrong counts more than what could not be told
    code = 1 if 1 in codes else max(codes)
    if as_json:
        answers = [reply.as_json() for reply in replies]
        whole = {"schema": "compliance-status-all/1", "answers": answers, "exit_code": code}
        out.print_json(json.dumps(answers[0] if question else whole, ensure_ascii=False))
    else:
        for one, reply in zip(asked, replies, strict=True):
            if question is None:
                out.print(f"\n{one.value}")
            for line in reply.lines_fr:
                out.print(escape(line))
    raise typer.Exit(code)


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
