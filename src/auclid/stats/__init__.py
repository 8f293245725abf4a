"""What is known of rows, and adds up."""
