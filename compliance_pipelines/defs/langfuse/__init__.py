"""Traces and scores as read from Langfuse."""
