"""What keeps nights and reports coming without a person: catching up, retrying, freshness."""
