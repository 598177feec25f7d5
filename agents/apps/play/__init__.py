"""A person against an agent: the session, and its three faces: text, cursor keys, a window."""
