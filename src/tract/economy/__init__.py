"""What answers cost, and where the context goes: prices, sums, requests, lists of dialogs."""
