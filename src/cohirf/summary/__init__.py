"""What a model keeps of its rows so that it can be updated: leaves, pending rows, the leaf of each
row, numbers.
"""
