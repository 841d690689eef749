"""When an asset counts as stale in Dagster's interface: the night by 06:00 in Paris, the report by noon UTC of the 1st.

Dagster looks at the newest materialization, whatever its partition: a backfill makes an asset look fresh. The sensors
of this folder and the alerts look at each night and month instead; freshness is what a person sees at a glance.
"""

from datetime import timedelta

import dagster as dg

NIGHTLY = dg.FreshnessPolicy.cron(
    deadline_cron="0 6 * * *", lower_bound_delta=timedelta(hours=4, minutes=45), timezone="Europe/Paris"
)
MONTHLY = dg.FreshnessPolicy.cron(deadline_cron="0 12 1 * *", lower_bound_delta=timedelta(hours=8), timezone="UTC")
