"""How much a row belongs to each cluster, how far it is from all of them, and whether new rows
drift.
"""
