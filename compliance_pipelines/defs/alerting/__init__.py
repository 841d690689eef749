"""What is watched, and how alerts are delivered: sensors only, no assets."""
