"""Small plots for the metadata that the Dagster UI shows: departments against their threshold, as PNG in Markdown.

The report has charts of its own (`charts`). matplotlib's object API only: no global state, no display.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

from compliance_pipelines.core.records import Aggregate


def department_plot(rows: Sequence[Aggregate], title: str) -> str:
    """Markdown with a bar a department: mean, 95 % interval, threshold, N; departments without a mean are left out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [row for row in rows if row.mean is not None]
    if not shown:
        return "Aucune mesure."
    figure = Figure(figsize=(8, 0.5 + 0.34 * len(shown)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for place, row in enumerate(reversed(shown)):
        mean = row.mean or 0.0
        below = row.threshold is not None and mean < row.threshold
        axes.barh(place, mean, height=0.62, color="#b2182b" if below else "#4d7ea8")
        if row.ci_low is not None and row.ci_high is not None:
            axes.plot([row.ci_low, row.ci_high], [place, place], color="black", linewidth=1.2)
        if row.threshold is not None:
            axes.plot([row.threshold] * 2, [place - 0.4, place + 0.4], color="black", linewidth=2, linestyle=":")
        axes.text(1.01, place, f"{mean:.2f}  N {row.n_scored}", va="center", fontsize=8)
    axes.set_yticks(range(len(shown)), [row.department for row in reversed(shown)], fontsize=8)
    axes.set_xlim(0, 1)
    axes.set_title(f"{title} (trait : intervalle à 95 %, pointillé : seuil)", fontsize=9, loc="left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110, metadata={"Software": None})
    return f"![{title}](data:image/png;base64,{base64.b64encode(out.getvalue()).decode()})"
