"""The night's judgements: one row per trace and metric."""
