"""AlphaHex: learning to play from search. PyTorch is imported here only (extra ``train``)."""
