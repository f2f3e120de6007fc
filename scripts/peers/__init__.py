"""What others recommend, and how it is mapped onto the configurations of a measured space."""
