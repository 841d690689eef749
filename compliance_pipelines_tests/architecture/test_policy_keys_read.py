"""Every key that an expert may write in a policy file is read by something: an edit never goes unheard.

The keys are those of the models; a key is read where code takes the attribute of that name, outside the models, the
loader's own checks and the tests. Keys with one admissible value state a constant and have nothing to be read for.
"""

from __future__ import annotations

import ast
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from compliance_guardrails.policy import load_policy
from compliance_guardrails.policy.loader import MODELS
from compliance_guardrails.policy.prompts import Prompt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("compliance_pipelines", "guardrails/compliance_guardrails")
# What holds, checks or compares keys as such reads none for its meaning; a method that answers from them does.
HOLDERS = {"models.py", "references.py", "runtime.py", "types.py", "crosscheck.py", "guarded.py", "flatten.py"}
CHECKS = {"field_validator", "model_validator"}
REPORT = ("report", "wording")


def models() -> list[type[BaseModel]]:
    seen: dict[type[BaseModel], None] = {}

    def visit(annotation: object) -> None:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in seen:
            seen[annotation] = None
            for one in annotation.model_fields.values():
                visit(one.annotation)
        for inner in typing.get_args(annotation):
            visit(inner)

    for model in (*MODELS.values(), Prompt):
        visit(model)
    return list(seen)


def code() -> Iterator[ast.AST]:
    """Every syntax node that may read a key for what it says."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            if path.parent.name != "policy" or path.name not in HOLDERS:
                yield from ast.walk(tree)
                continue
            for one in ast.walk(tree):
                if isinstance(one, ast.FunctionDef) and path.name != "crosscheck.py":
                    named = {ast.unparse(decorator).partition("(")[0] for decorator in one.decorator_list}
                    if not named & CHECKS:
                        yield from ast.walk(one)


def attributes() -> Iterator[tuple[str, str]]:
    """Holder and name of every attribute read: `policy.report.wording` gives ("report", "wording")."""
    for node in code():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            holder = node.value
            yield holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", ""), node.attr


def named_by_alerts() -> set[str]:
    """Keys that alerts.yaml itself reads: `limit_from: department.alert_threshold`."""
    paths = [path for rule in load_policy().alerts.rules for path in (rule.limit_from, rule.for_minutes_from) if path]
    return {path.rpartition(".")[2] for path in paths}


def constant(one: FieldInfo) -> bool:
    return typing.get_origin(one.annotation) is typing.Literal and len(typing.get_args(one.annotation)) == 1


READ = frozenset(attributes())
NAMES = frozenset(name for _, name in READ) | named_by_alerts()


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_every_key_is_read(model: type[BaseModel]) -> None:
    assert [name for name, one in model.model_fields.items() if name not in NAMES and not constant(one)] == []


@pytest.mark.parametrize("holder", REPORT)
def test_every_key_of_the_report_is_read_from_the_policy_itself(holder: str) -> None:
    """Words as common as "title" are read everywhere: here it is the policy's own that has to be."""
    of = {"report": MODELS["report.yaml"], "wording": MODELS["report.yaml"].model_fields["wording"].annotation}[holder]
    assert of is not None
    expected = set(of.model_fields) - {"effective_from", "corrective_actions"}
    assert expected - {name for where, name in READ if where == holder} == set()
