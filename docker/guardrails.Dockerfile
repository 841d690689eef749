# A carrier: the guardrails and their one compiled dependency, unpacked for the gateway's Python. The gateway's pod copies
# /wheels into a volume (k8s/components/litellm-guardrails); the gateway's own image is left as it is.
#   docker build -f docker/guardrails.Dockerfile --build-arg PYTHON_IMAGE=python:3.13-slim-bookworm \
#     -t compliance-guardrails:0.1.0 .
# PYTHON_IMAGE must have the minor version of the gateway's Python. Not built by the project's own tests.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY docker/guardrails-requirements.txt ./
RUN pip install --no-deps --require-hashes --target /wheels/unpacked -r guardrails-requirements.txt \
    && pip install --no-deps --require-hashes -r guardrails-requirements.txt \
    # setuptools builds the wheel; on the gateway's PYTHONPATH it would come before the gateway's own
    && rm -rf /wheels/unpacked/setuptools* /wheels/unpacked/_distutils_hack /wheels/unpacked/distutils-precedence.pth
COPY guardrails guardrails
RUN pip install --no-deps --no-build-isolation --target /wheels/unpacked ./guardrails

FROM ${PYTHON_IMAGE}
RUN groupadd --gid 10001 compliance && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin compliance
COPY --from=build /wheels /wheels
USER 10001:10001
WORKDIR /tmp
CMD ["ls", "/wheels/unpacked"]
