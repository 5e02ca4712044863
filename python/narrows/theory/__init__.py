"""The papers' mathematics: response functions and models, numpy in, numpy out, each function with its equation."""
