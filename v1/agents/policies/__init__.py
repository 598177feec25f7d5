"""Learned policies, of this and of other libraries, as agents."""
