"""How steps run: one process a run, and for heavy nights one pod a step where `dagster-k8s` is installed.

A step in a process of its own pays several seconds of imports, thirty times a night, and gains nothing: nights stream
day by day and are bounded in memory. `nightly_by_pod` is the same night under `k8s_job_executor`: each asset in its own
pod, with memory of its own (tag `dagster-k8s/config` on the asset for another size). `shards` cuts one night's judging
over several pods.
"""

import importlib.util

import dagster as dg

from compliance_pipelines.defs import keys
from compliance_pipelines.defs.schedules import NIGHT

STEPS_AT_ONCE = 3


def by_pod() -> dg.ExecutorDefinition | None:
    """The executor that gives each step a pod, None where `dagster-k8s` is not installed."""
    if importlib.util.find_spec("dagster_k8s") is None:
        return None
    from dagster_k8s import k8s_job_executor

    one_asks = [{"key": key, "value": value, "limit": 1} for key, value in keys.ASKS_THE_JUDGE.items()]
    return k8s_job_executor.configured(
        {
            "max_concurrent": STEPS_AT_ONCE,
            "tag_concurrency_limits": one_asks,
            "enable_owner_references": True,
            "retries": {"enabled": {}},
        },
        name="by_pod",
    )


HEAVY_NIGHTS = [
    dg.define_asset_job(
        "nightly_by_pod",
        NIGHT,
        executor_def=executor,
        description="La nuit, une étape par pod (nuits lourdes, sur Kubernetes).",
        tags={"job": "nightly"},
    )
    for executor in [by_pod()]
    if executor is not None
]


@dg.definitions
def execution() -> dg.Definitions:
    """The default executor, and the night by pods."""
    return dg.Definitions(executor=dg.in_process_executor, jobs=HEAVY_NIGHTS)
