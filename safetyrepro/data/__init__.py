"""What is read and stored: items, rows, results, manifests, and the bundle that holds them."""
