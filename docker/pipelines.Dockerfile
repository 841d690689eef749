# The image of the code location, the web server, the daemon and every run. Build from the root of the repository:
#   docker build -f docker/pipelines.Dockerfile -t compliance-pipelines:0.1.0 .
# Not built by the project's own tests, which have no Docker daemon; hadolint-style rules are checked as text.
# A release pins the base by digest: --build-arg PYTHON_IMAGE=python@sha256:<resolved by the release>.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
RUN python -m venv /opt/venv
WORKDIR /src
COPY docker/requirements.txt ./
RUN /opt/venv/bin/pip install --no-deps --require-hashes -r requirements.txt
COPY guardrails guardrails
COPY compliance_pipelines compliance_pipelines
COPY tests/bias tests/bias
COPY pyproject.toml README.md LICENSE dagster.yaml ./
RUN /opt/venv/bin/pip install --no-deps --no-build-isolation ./guardrails ./guardrails/gate . \
    && /opt/venv/bin/python -m compileall -q /opt/venv/lib \
    && /opt/venv/bin/compliance-guardrails policy check

FROM ${PYTHON_IMAGE}
RUN groupadd --gid 10001 compliance \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin compliance \
    && install -d -o 10001 -g 10001 /opt/dagster/home /data/compliance
COPY --from=build /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:${PATH} \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore \
    DAGSTER_HOME=/opt/dagster/home COMPLIANCE_HOME=/data/compliance RAGAS_DO_NOT_TRACK=true
USER 10001:10001
WORKDIR /tmp
CMD ["compliance", "--help"]
