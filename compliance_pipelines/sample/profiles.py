"""How the departments of the sample month differ: the model of `profiles.yaml` and its reading.

Names of keys, teams and tags stand here so that every way of naming a department occurs in the month;
whether the policy knows those names is checked by a test, not here.
"""

from __future__ import annotations

import enum
from functools import cache
from typing import Annotated

from compliance_guardrails.policy.strict import StrictModel, load_yaml
from pydantic import Field

from compliance_pipelines.sample.situations import HERE

Share = Annotated[float, Field(ge=0, le=1)]


class Naming(enum.StrEnum):
    """Where a trace says which department it belongs to."""

    STAMP = "stamp"
    KEY_ALIAS = "key_alias"
    TEAM_ALIAS = "team_alias"
    TEAM_ID = "team_id"
    TAG = "tag"
    DECLARED = "declared"
    NONE = "none"


class Channel(enum.StrEnum):
    """Where the documents of a trace stand."""

    SOURCE_TAGS = "source_tags"
    RETRIEVER = "retriever"
    METADATA = "metadata"
    NONE = "none"


class Profile(StrictModel):
    """The habits of one department; shares are between 0 and 1."""

    id: str
    traces: int = Field(ge=1)
    high_risk: bool
    alias: str
    model: str
    key_alias: str
    team_alias: str
    team_id: str
    declared: str
    contact: str
    leading: Share
    sycophantic: Share
    uncited: Share
    ungrounded: Share
    feedback: Share


class Profiles(StrictModel):
    """The whole table."""

    departments: tuple[Profile, ...]
    unnamed: int = Field(ge=0)
    naming: dict[Naming, Share]
    channels_high: dict[Channel, Share]
    channels_low: dict[Channel, Share]


@cache
def profiles() -> Profiles:
    """Read the table that ships with the package. Raises PolicyError when it is not in order."""
    return load_yaml(HERE / "profiles.yaml", Profiles)
