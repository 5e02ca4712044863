"""The mathematics of the papers: response functions and models, each with its equation.

All functions take and return numpy arrays or floats.
"""
