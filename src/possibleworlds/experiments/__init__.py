"""What many runs say together: collected, evaluated, and reported beside the paper's figures."""
