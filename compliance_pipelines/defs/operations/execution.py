"""How steps run: one process a run, and for heavy nights one pod a step where `dagster-k8s` is installed.

A step in a process of its own pays several seconds of imports, thirty times a night, and gains nothing: nights stream
day by day and are bounded in memory. `nightly_by_pod` is the same night under `k8s_job_executor`: each asset in its own
pod, with memory of its own (tag `dagster-k8s/config` on the asset for another size).
"""

import importlib.util

import dagster as dg

from compliance_pipelines.defs.schedules import NIGHT

STEPS_AT_ONCE = 3


def _by_pod() -> list[object]:
    if importlib.util.find_spec("dagster_k8s") is None:
        return []
    from dagster_k8s import k8s_job_executor

    executor = k8s_job_executor.configured(
        {"max_concurrent": STEPS_AT_ONCE, "enable_owner_references": True, "retries": {"enabled": {}}}, name="by_pod"
    )
    return [
        dg.define_asset_job(
            "nightly_by_pod",
            NIGHT,
            executor_def=executor,
            description="La nuit, une étape par pod (nuits lourdes, sur Kubernetes).",
            tags={"job": "nightly"},
        )
    ]


@dg.definitions
def execution() -> dg.Definitions:
    """The default executor, and the night by pods."""
    return dg.Definitions(executor=dg.in_process_executor, jobs=_by_pod())  # ty: ignore[invalid-argument-type]
