"""What is lost when processes are killed or files are damaged."""
