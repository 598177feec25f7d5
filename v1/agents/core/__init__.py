"""What every agent shares: what an agent is, its parameters, its budget, the files it keeps."""
