"""`counterfactual/results`: the gate once a week, by the shipped or the operator's pairs, with a heat map.

Without LITELLM_CI_URL there is no assistant to ask: the week is an empty table that says so, and the report prints "not
carried out". An endpoint that is set but unusable fails the run.
"""

import os
from pathlib import Path

import dagster as dg
from compliance_guardrails.counterfactual.client import GatewayAssistant
from compliance_guardrails.counterfactual.embeddings import encoder_from
from compliance_guardrails.counterfactual.engine import run
from compliance_guardrails.counterfactual.result import GateResult
from compliance_guardrails.counterfactual.transport import Endpoint, with_version
from compliance_guardrails.counterfactual.unmasked import with_unmasked
from compliance_guardrails.counterfactual.wiring import make_plan, make_result, read_files

from compliance_pipelines.core.counterfactual_rows import consistency, to_frame
from compliance_pipelines.defs import keys
from compliance_pipelines.defs.partitions import FIRST_DAY, TIMEZONE
from compliance_pipelines.io_manager import table_metadata
from compliance_pipelines.resources import InstallationResource, utc_now
from compliance_pipelines.shipped import shipped

SHIPPED = Path("tests/bias/counterfactual_pairs.json")
weekly = dg.WeeklyPartitionsDefinition(start_date=FIRST_DAY.isoformat(), timezone=TIMEZONE, day_offset=1)


class GateConfig(dg.Config):
    """`pairs`: a path, relative to what the code location ships, whatever the process' own folder is.

    The `…_variable` fields name environment variables, so that no secret is ever in a run's config. `encoder` is chosen
    as on the command line: "auto" is the endpoint of EMBEDDING_BASE_URL where that is set, else the bundled E5.
    """

    pairs: str = str(SHIPPED)
    url_variable: str = "LITELLM_CI_URL"
    key_variable: str = "LITELLM_CI_KEY"
    unmasked_key_variable: str = "LITELLM_CI_UNMASKED_KEY"
    encoder: str = "auto"
    concurrency: int = 4
    max_calls: int = 6_000


@dg.asset(
    key=keys.COUNTERFACTUAL,
    partitions_def=weekly,
    group_name="counterfactual",
    owners=keys.OWNERS,
    kinds={"python", "parquet"},
    tags={"regulation/ai-act": "art-9"},
    code_version=keys.code_version("rules/counterfactual", "thresholds", "departments"),
    description="La barrière contrefactuelle, chaque semaine : une ligne par paire et par dimension.",
)
def counterfactual_results(
    context: dg.AssetExecutionContext, config: GateConfig, installation: InstallationResource
) -> dg.MaterializeResult:
    """Ask, compare, keep the table."""
    url = os.environ.get(config.url_variable, "")
    result = _run(context, config, installation, url) if url else None
    table = to_frame(result)
    shown = [(a, d, str(n), f"{fair / n:.0%}") for a, d, n, fair in consistency(table)]
    return dg.MaterializeResult(
        value=[(context.partition_key, table)],
        metadata={
            "verdict": result.verdict.value if result else f"non exécutée : {config.url_variable} absente",
            "appels": result.calls if result else 0,
            "cohérence par attribut et direction": table_metadata(
                ("attribut", "direction", "paires", "cohérence"), shown
            ),
            "carte de chaleur": dg.MetadataValue.md(heat_map(consistency(table))),
        },
    )


def _run(
    context: dg.AssetExecutionContext, config: GateConfig, installation: InstallationResource, url: str
) -> GateResult:
    policy_dir = Path(installation.policy_dir) if installation.policy_dir else None
    files = read_files(shipped(config.pairs), policy_dir)
    base = with_version(url)
    endpoint = Endpoint(base, os.environ.get(config.key_variable, ""))
    second_key = os.environ.get(config.unmasked_key_variable, "")
    second = GatewayAssistant(Endpoint(base, second_key), config.concurrency) if second_key else None
    started = utc_now()
    encoder = encoder_from(config.encoder, os.environ, files.rules)
    plan = make_plan(files, today=started.date(), encoder=encoder, max_calls=config.max_calls)

    def progress(done: int, total: int) -> None:
        if done == total or done % 100 == 0:
            context.log.info("barrière contrefactuelle : %d appels sur %d", done, total)

    found = run(plan, GatewayAssistant(endpoint, config.concurrency), progress)
    found = with_unmasked(plan, found, second, progress)
    return make_result(plan, found, started_at=started, endpoint=endpoint.shown, policy_digest=files.policy.gate_digest)


def heat_map(cells: list[tuple[str, str, int, int]]) -> str:
    """Attributes by departments; a square's colour is the share of pairs without bias."""
    if not cells:
        return "Aucune paire décidée."
    departments = sorted({department for _, department, _, _ in cells})
    shares = {(attribute, department): fair / n for attribute, department, n, fair in cells}
    lines = ["| attribut | " + " | ".join(departments) + " |", "|---" * (len(departments) + 1) + "|"]
    for attribute in sorted({attribute for attribute, _, _, _ in cells}):
        squares = [_square(shares.get((attribute, department))) for department in departments]
        lines.append(f"| {attribute} | " + " | ".join(squares) + " |")
    return "\n".join(lines)


def _square(share: float | None) -> str:
    if share is None:
        return "·"
    return f"{'🟩' if share >= 1 else '🟧' if share >= 0.5 else '🟥'} {share:.0%}"
