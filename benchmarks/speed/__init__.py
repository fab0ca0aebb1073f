"""What a fit costs: time, memory, bytes moved."""
