"""The weekly counterfactual run: one row per pair and dimension."""
