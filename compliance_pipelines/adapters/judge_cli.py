"""`compliance judge`: calibrate the configured judge against labelled exchanges, and show the calibrations kept.

French output, one line per figure; exit codes: 0 adequate, 1 measured but not adequate, 2 could not decide (bad file,
judge not set, unreachable or failing its anchors). The callables that need the environment are passed in by the
command line's root, so that nothing here reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from compliance_pipelines.adapters.cache import CacheError, SqliteCache
from compliance_pipelines.adapters.judge_asks import Session
from compliance_pipelines.adapters.judge_calibration import Measured, calibrations, measure, read_labelled, save
from compliance_pipelines.adapters.judge_config import JudgeConfigError, JudgeUnavailableError
from compliance_pipelines.adapters.judge_files import judge_files
from compliance_pipelines.adapters.judge_night import open_judge
from compliance_pipelines.core.calibration import BANDS, Adequacy, Lack

NAMES_FR = {"neutral": "neutre", "mostly": "plutôt", "partial": "partielle", "strong": "forte"}
LACKS_FR = {
    Lack.ITEMS: "moins de {0.min_items} réponses notées",
    Lack.GROUPS: "moins de {0.min_groups} situations (group)",
    Lack.SYCOPHANTIC: "moins de {0.min_per_side} réponses étiquetées complaisantes (partial, strong)",
    Lack.NEUTRAL: "moins de {0.min_per_side} réponses étiquetées sans complaisance (neutral, mostly)",
    Lack.UNSCORED: "plus de {0.max_unscored_share:.0%} de réponses non notées par le juge",
    Lack.KAPPA: "borne basse du kappa sous {0.min_kappa_low:.2f}",
}
# home of the installation, the session of the configured judge (None: no judge), the day
Environment = Callable[[], tuple[Path, Session | None, date]]


def judge_app(environment: Environment) -> typer.Typer:
    """The `judge` commands; `environment` is called when a command runs."""
    app = typer.Typer(no_args_is_help=True, help="Le juge de neutralité : l’étalonner, voir ses étalonnages.")
    out = Console(highlight=False, soft_wrap=True)

    @app.command("calibrate")
    def calibrate(
        labelled: Annotated[Path, typer.Argument(metavar="ETIQUETTES.jsonl", help="Une réponse étiquetée par ligne.")],
    ) -> None:
        """Comparer le juge configuré à des étiquettes humaines et garder l’étalonnage que le rapport cite."""
        home, session, today = environment()
        items, files = read_labelled(labelled), judge_files()
        if session is None:
            _stop("aucun juge configuré : JUDGE_BASE_URL et JUDGE_MODEL manquent")
        try:
            with SqliteCache(home / "cache" / "judgements.sqlite") as cache:
                judge = open_judge(session, files, cache)
                if not judge.met:
                    _stop("juge injoignable : un étalonnage est celui d’un modèle dont l’empreinte est connue")
                measured = measure(judge, items, today)
        except (JudgeConfigError, JudgeUnavailableError, CacheError) as failed:
            _stop(str(failed))
        path = save(measured, home)
        for line in lines_fr(measured, files.adequacy):
            out.print(line)
        out.print(f"Étalonnage gardé : {path}")
        raise typer.Exit(0 if measured.adequate else 1)

    @app.command("calibrations")
    def show() -> None:
        """Lister les étalonnages gardés."""
        home, _, _ = environment()
        kept = calibrations(home)
        if not kept:
            out.print("Aucun étalonnage : les verdicts du juge sont indicatifs.")
        for evaluator, measured in kept.items():
            out.print(f"{evaluator} : {measured.line_fr()}")

    return app


def lines_fr(measured: Measured, rules: Adequacy) -> list[str]:
    """What `calibrate` prints; an insufficient calibration says what it lacks under `rules`."""
    seen = measured.figures
    out = [
        f"Juge {measured.evaluator}",
        measured.line_fr(),
        f"Non notées : {seen.n_labelled - seen.n} sur {seen.n_labelled}",
        "Étiquette \\ juge   " + "".join(f"{NAMES_FR[name]:>11}" for name in BANDS),
    ]
    for name, row in zip(BANDS, seen.confusion, strict=True):
        out.append(f"{NAMES_FR[name]:<19}" + "".join(f"{cell:>11}" for cell in row))
    if measured.adequate:
        return [*out, "Suffisant : les verdicts peuvent conclure."]
    why = "; ".join(LACKS_FR[lack].format(rules) for lack in seen.lacks(rules)).replace(".", ",").replace(";", " ;")
    return [*out, f"Insuffisant, « Indicatif » : {why}."]


def _stop(message: str) -> NoReturn:
    typer.echo(f"compliance : {message}", err=True)
    raise typer.Exit(2)
