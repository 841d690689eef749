"""Dagster definitions by concept; each folder holds assets.py, checks.py, schedules.py or sensors.py as needed.

Only Dagster lives here: asset bodies load, call the core, and write. Concepts refer to one another by asset key.
"""
