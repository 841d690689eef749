"""The monthly report and the receipt of its archiving."""
