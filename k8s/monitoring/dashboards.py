"""Both Grafana dashboards as code: their panels, queries and thresholds; limits come from the policy.

One data source, Prometheus, chosen by a variable. The table of traces to review reads the gauge `review_queue_score`,
which the pipeline pushes each night (ids, never text). Written out by generate.py.
"""

from __future__ import annotations

from typing import Any

from compliance_guardrails.policy import Policy

SCHEMA_VERSION = 39
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
Json = dict[str, Any]


def target(expr: str, legend: str = "{{department}}", *, instant: bool = False, form: str = "time_series") -> Json:
    """One query of a panel."""
    return {
        "datasource": SOURCE,
        "expr": expr,
        "legendFormat": legend,
        "instant": instant,
        "range": not instant,
        "format": form,
        "refId": "A",
    }


def panel(
    kind: str, title: str, about: str, place: tuple[int, int, int, int], targets: list[Json], **more: Any
) -> Json:
    """A panel of type `kind` at (x, y, width, height)."""
    x, y, w, h = place
    named = [{**one, "refId": chr(ord("A") + k)} for k, one in enumerate(targets)]
    return {
        "type": kind,
        "title": title,
        "description": about,
        "gridPos": {"x": x, "y": y, "w": w, "h": h},
        "datasource": SOURCE,
        "targets": named,
        "fieldConfig": more.get("field", {"defaults": {}, "overrides": []}),
        "options": more.get("options", {}),
        "transformations": more.get("transformations", []),
    }


def share(limit: float | None = None, low: float | None = None) -> Json:
    """Field settings of a share in 0..1: red under `low` or `limit`, green from `limit`."""
    steps: list[Json] = [{"color": "green" if limit is None else "red", "value": None}]
    if low is not None and limit is not None and low < limit:
        steps.append({"color": "orange", "value": low})
    if limit is not None:
        steps.append({"color": "green", "value": limit})
    defaults = {"unit": "percentunit", "min": 0, "max": 1, "decimals": 1, "color": {"mode": "thresholds"}}
    return {"defaults": defaults | {"thresholds": {"mode": "absolute", "steps": steps}}, "overrides": []}


def lines(unit: str, limits: tuple[float, ...] = ()) -> Json:
    """Field settings of a line chart, with a dashed line at each limit."""
    steps: list[Json] = [{"color": "transparent", "value": None}] + [{"color": "red", "value": v} for v in limits]
    defaults: Json = {
        "unit": unit,
        "color": {"mode": "palette-classic"},
        "custom": {"drawStyle": "line", "lineWidth": 1, "spanNulls": False, "thresholdsStyle": {"mode": "dashed"}},
        "thresholds": {"mode": "absolute", "steps": steps},
    }
    return {"defaults": defaults | ({"min": 0, "max": 1} if unit == "percentunit" else {"min": 0}), "overrides": []}


HEAT: Json = {
    "calculate": False,
    "cellGap": 1,
    "color": {"mode": "scheme", "scheme": "RdYlGn", "steps": 64, "min": 0, "max": 1, "fill": "dark-orange"},
    "rowsFrame": {"layout": "auto"},
    "cellValues": {"unit": "percentunit"},
    "yAxis": {"axisPlacement": "left"},
    "tooltip": {"mode": "single", "showColorScale": True, "yHistogram": False},
    "legend": {"show": True},
}
# the variable is the project's address; a person who opens the dashboard fills it in once, and saves it with the URL
TRACE_LINK: Json = {
    "matcher": {"id": "byName", "options": "trace"},
    "properties": [
        {
            "id": "links",
            "value": [
                {
                    "title": "Ouvrir dans Langfuse",
                    "url": "${langfuse:raw}/traces/${__value.text:percentencode}",
                    "targetBlank": True,
                }
            ],
        }
    ],
}
REDUCED: Json = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}


def bias(policy: Policy) -> Json:
    """Bias & Neutrality Monitor."""
    limits = tuple(sorted({d.alert_threshold for d in policy.departments}))
    queue = policy.thresholds.queue_below
    panels = [
        panel(
            "timeseries",
            "Neutralité par direction (moyenne sur 7 jours)",
            "judge_neutrality : juge LLM. lexical_neutrality : sans LLM, indicatif. Tirets : seuils d’alerte.",
            (0, 0, 16, 9),
            [
                target("avg by (department) (avg_over_time(judge_neutrality[7d]))"),
                target("avg by (department) (avg_over_time(lexical_neutrality[7d]))", "{{department}} (indicatif)"),
            ],
            field=lines("percentunit", limits),
            options={"legend": {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull", "min"]}},
        ),
        panel(
            "stat",
            "Raisonnements sur critère protégé (24 h)",
            "Événements protected-attr-comparison-detected des dernières 24 heures.",
            (16, 0, 8, 9),
            [target("sum(increase(protected_attr_comparison_detected_total[24h]))", "24 h", instant=True)],
            field={"defaults": {"unit": "none", "decimals": 0}, "overrides": []},
            options=REDUCED | {"colorMode": "value", "graphMode": "area"},
        ),
        panel(
            "heatmap",
            "Cohérence contrefactuelle par critère protégé",
            "Part des paires jugées équitables, à chaque exécution hebdomadaire.",
            (0, 9, 12, 9),
            [target("min by (protected_attr) (counterfactual_consistency)", "{{protected_attr}}")],
            options=HEAT,
        ),
        panel(
            "table",
            f"Cinq dernières traces en relecture (neutralité < {queue:.2f})".replace(".", ","),
            "Source : jauge review_queue_score, publiée chaque nuit. L’identifiant ouvre la trace dans Langfuse.",
            (12, 9, 12, 9),
            [target(f"topk(5, review_queue_score < {queue:g})", "", instant=True, form="table")],
            field={"defaults": {"custom": {"align": "auto"}}, "overrides": [TRACE_LINK]},
            transformations=[
                {
                    "id": "organize",
                    "options": {
                        "excludeByName": {"Time": True, "__name__": True, "job": True, "instance": True},
                        "renameByName": {
                            "Value": "neutralité",
                            "department": "direction",
                            "observed": "vue le (UTC)",
                            "trace": "trace",
                        },
                    },
                }
            ],
        ),
    ]
    made = dashboard("bias-neutrality", "Bias & Neutrality Monitor (7-day rolling)", "now-7d", panels)
    made["templating"]["list"].append(
        {
            "name": "langfuse",
            "type": "textbox",
            "label": "Projet Langfuse (https://hôte/project/ID)",
            "query": "",
            "current": {"text": "", "value": ""},
            "hide": 0,
        }
    )
    return made


def hallucination(policy: Policy) -> Json:
    """Hallucination Risk by Department."""
    citations = policy.thresholds.citation_compliance
    panels = [
        panel(
            "heatmap",
            "Fidélité aux documents par direction",
            "ragas_faithfulness de la dernière nuit, par direction.",
            (0, 0, 12, 9),
            [target("avg by (department) (ragas_faithfulness)")],
            options=HEAT,
        ),
        panel(
            "bargauge",
            "Affirmations précises sans source (24 h)",
            "uncited_specific_claim_total, par direction.",
            (12, 0, 12, 9),
            [target("sum by (department) (increase(uncited_specific_claim_total[24h]))", instant=True)],
            field={"defaults": {"unit": "none", "decimals": 0, "min": 0}, "overrides": []},
            options=REDUCED | {"orientation": "horizontal", "displayMode": "basic"},
        ),
        panel(
            "timeseries",
            "Refus du seuil documentaire (par heure)",
            "retrieval_gate_refused_total, par direction.",
            (0, 9, 12, 9),
            [target("sum by (department) (increase(retrieval_gate_refused_total[1h]))")],
            field=lines("none"),
        ),
        panel(
            "gauge",
            "Réponses entièrement sourcées",
            f"citation_compliance de la dernière nuit ; seuil {citations:.0%}.",
            (12, 9, 12, 9),
            [target("avg by (department) (citation_compliance)", instant=True)],
            field=share(citations, citations - 0.1),
            options=REDUCED | {"showThresholdMarkers": True},
        ),
    ]
    return dashboard("hallucination-risk", "Hallucination Risk by Department (24 h)", "now-24h", panels)


def dashboard(uid: str, title: str, since: str, panels: list[Json]) -> Json:
    """A dashboard over `panels`, with the data source as a variable."""
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source", "hide": 0}
    return {
        "uid": uid,
        "title": title,
        "tags": ["conformite"],
        "timezone": "Europe/Paris",
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "5m",
        "time": {"from": since, "to": "now"},
        "templating": {"list": [source]},
        "annotations": {"list": []},
        "panels": [{"id": k + 1, **one} for k, one in enumerate(panels)],
    }
