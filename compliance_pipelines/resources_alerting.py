"""The Dagster resource of alerts and gauges: outbox, where alerts go, where gauges go, links into the UI.

Without ALERTMANAGER_URL notifications are lines of a file beside the outbox; without PUSHGATEWAY_URL gauges are text
files for node_exporter. Bursts of uncited claims have one owner, Prometheus or the sensors (UNCITED_BURST_FROM). A test
swaps the clock by calling the watching functions themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import dagster as dg

from compliance_pipelines.adapters.alertmanager import Alertmanager, NotificationFile
from compliance_pipelines.adapters.judge_config import JudgeConfigError, endpoint
from compliance_pipelines.adapters.outbox import Outbox, Sweep
from compliance_pipelines.adapters.pushgateway import Pushgateway, TextFiles
from compliance_pipelines.core.alerting_delivery import Timing
from compliance_pipelines.core.alerting_text import Links

BURST_VARIABLE, PROMETHEUS, LANGFUSE = "UNCITED_BURST_FROM", "prometheus", "langfuse"


class AlertingResource(dg.ConfigurableResource):
    """Alerts under `<home>/outbox`. Addresses are empty where the embedded default serves."""

    home: str
    alertmanager_url: str = ""
    pushgateway_url: str = ""
    ui_url: str = ""
    burst_from: str = LANGFUSE

    @property
    def bursts_here(self) -> bool:
        """Whether the sensors count uncited claims; False where a Prometheus rule owns them."""
        return self.burst_from == LANGFUSE

    @property
    def outbox(self) -> Outbox:
        """Conditions, episodes and deliveries."""
        return Outbox(Path(self.home) / "outbox")

    @property
    def links(self) -> Links:
        """Addresses that alerts carry."""
        return Links(self.ui_url)

    def gauges(self) -> Pushgateway | TextFiles:
        """Where gauges go."""
        if self.pushgateway_url:
            return Pushgateway(self.pushgateway_url)
        return TextFiles(Path(self.home) / "outbox" / "metrics")

    def deliver(self, now: datetime, timing: Timing) -> Sweep:
        """Send what is due."""
        if not self.alertmanager_url:
            return self.outbox.sweep(NotificationFile(Path(self.home) / "outbox" / "notifications.jsonl"), now, timing)
        with Alertmanager(self.alertmanager_url) as sender:
            return self.outbox.sweep(sender, now, timing)


def alerting_from(env: Mapping[str, str], home: str) -> AlertingResource:
    """What the environment asks for; JudgeConfigError (one French line) names the variable that is set but wrong."""
    names = ("ALERTMANAGER_URL", "PUSHGATEWAY_URL", "DAGSTER_UI_URL")
    am, gateway, ui = (endpoint(name, env[name].strip()) if env.get(name, "").strip() else "" for name in names)
    # whoever has a Pushgateway has a Prometheus, and the rule on the gateway's counters with it
    burst = env.get(BURST_VARIABLE, "").strip() or (PROMETHEUS if gateway else LANGFUSE)
    if burst not in (PROMETHEUS, LANGFUSE):
        raise JudgeConfigError(f"{BURST_VARIABLE}={burst[:40]} : attendu {PROMETHEUS} ou {LANGFUSE}")
    return AlertingResource(home=home, alertmanager_url=am, pushgateway_url=gateway, ui_url=ui, burst_from=burst)
