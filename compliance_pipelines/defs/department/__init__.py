"""Judgements gathered by department, daily and monthly, with their verdicts."""
