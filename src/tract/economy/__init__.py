"""What answers cost: prices, and sums of recorded usage."""
