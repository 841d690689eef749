"""`python tools/traceability.py [--check]`: docs/traceability.md, from rule to assets, checks and tests.

Rules come from the policy's legal file, assets and checks from the definitions, the link between them from
docs/traceability.yaml. Every name is looked up: a rule without an entry, an asset or a test that is not there, fails,
never a blank. Also lists, by regulation tag, the assets that carry one. Exit 0 written or current · 1 out of date (with
--check) or a name that does not exist · 2 unreadable input.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MAP, TARGET = ROOT / "docs" / "traceability.yaml", ROOT / "docs" / "traceability.md"
HEAD = """# Traceability: from a rule to what answers it and what tests it

Made by `python tools/traceability.py` from the policy's legal file (as of {as_of}), the Dagster definitions and
[traceability.yaml](traceability.yaml); do not edit. It says where an obligation is worked on, not that it is fulfilled:
whether a rule applies, and from when, is the operator's dated decision in `legal.yaml`.
"""


class TraceabilityError(ValueError):
    """A name that does not exist, or a rule without an entry."""


def assets_and_checks() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Asset key to its check names, and regulation tag ("ai-act art-9") to asset keys."""
    # the definitions read the environment; a folder of their own keeps the caller's home out of it
    os.environ.setdefault("COMPLIANCE_HOME", tempfile.gettempdir())
    from compliance_pipelines.definitions import build_defs

    graph = build_defs().resolve_asset_graph()
    checks: dict[str, list[str]] = {key.to_user_string(): [] for key in graph.materializable_asset_keys}
    for check in graph.asset_check_keys:
        checks.setdefault(check.asset_key.to_user_string(), []).append(check.name)
    tags: dict[str, list[str]] = {}
    for key in graph.materializable_asset_keys:
        for name, value in graph.get(key).tags.items():
            if name.startswith("regulation/"):
                tags.setdefault(f"{name.removeprefix('regulation/')} {value}", []).append(key.to_user_string())
    return {key: sorted(found) for key, found in sorted(checks.items())}, {
        k: sorted(v) for k, v in sorted(tags.items())
    }


def document(
    rules: list[Any],
    links: Mapping[str, Any],
    checks: Mapping[str, list[str]],
    tags: Mapping[str, list[str]],
    as_of: str,
) -> str:
    """The Markdown; TraceabilityError lists everything that does not exist."""
    wrong = [f"no entry for rule {rule.id}" for rule in rules if rule.id not in links]
    wrong += [f"no such rule: {name}" for name in links if name not in {rule.id for rule in rules}]
    lines = [HEAD.format(as_of=as_of)]
    lines += ["| rule | subject | assets | checks | tests |", "|---|---|---|---|---|"]
    for rule in rules:
        entry = links.get(rule.id) or {"assets": [], "tests": []}
        wrong += [f"{rule.id}: no such asset {key}" for key in entry["assets"] if key not in checks]
        wrong += [f"{rule.id}: no such test {test}" for test in entry["tests"] if not _exists(test)]
        found = sorted({name for key in entry["assets"] for name in checks.get(key, [])})
        cells = (
            f"{rule.instrument}, {rule.article}",
            rule.subject,
            _list(entry["assets"]) or "organisation (see [privacy.md](privacy.md))",
            _list(found) or "—",
            _list([test.rpartition("/")[2] for test in entry["tests"]]),
        )
        lines.append("| " + " | ".join(cells) + " |")
    if wrong:
        raise TraceabilityError("; ".join(wrong))
    lines += ["", "## Assets by regulation tag", "", "| tag | assets |", "|---|---|"]
    lines += [f"| {tag} | {_list(found)} |" for tag, found in tags.items()]
    return "\n".join(lines) + "\n"


def _list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _exists(test: str) -> bool:
    path, _, function = test.partition("::")
    file = ROOT / path
    return file.is_file() and (not function or f"def {function}(" in file.read_text(encoding="utf-8"))


def current() -> str:
    """What docs/traceability.md should say now."""
    import yaml
    from compliance_guardrails.policy import load_policy
    from compliance_guardrails.policy.paths import BUNDLED

    checks, tags = assets_and_checks()
    legal = load_policy(BUNDLED).legal
    links = yaml.safe_load(MAP.read_text(encoding="utf-8"))
    return document(list(legal.rules), links, checks, tags, str(legal.as_of))


def main(arguments: list[str]) -> int:
    """Write, or compare with --check."""
    try:
        text = current()
    except TraceabilityError as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{error.filename}: {error.strerror}\n")
        return 2
    if "--check" in arguments:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
        if not same:
            sys.stderr.write("docs/traceability.md is out of date: python tools/traceability.py\n")
        return 0 if same else 1
    TARGET.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{TARGET.relative_to(ROOT)}: {text.count(chr(10))} lines\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
