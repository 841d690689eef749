"""One outside system a file: files, PDF, archive, Langfuse, judge. No Dagster, and none knows another's client."""
