"""Planning: how any environment becomes something that a search plans through."""
