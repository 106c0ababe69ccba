"""What the imaginary machines answer: text for `/metrics`, JSON for the rest."""
