"""How good the clusters are, by known classes."""
