"""Proposes plans, has them judged, chooses."""
