"""compliance_pipelines: what a supervisor can be shown about an insurer's LLM assistants, computed every night."""

__version__ = "0.1.0"
