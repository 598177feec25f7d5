"""The search: one readable source, run compiled over games and interpreted over anything."""
