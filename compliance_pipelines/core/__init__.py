"""Pure code: records, rules and arithmetic. No Dagster, no I/O, no clock, no environment."""
