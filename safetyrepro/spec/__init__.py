"""The declared documents: what a person writes before anything runs."""
