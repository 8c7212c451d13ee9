"""Tools of the maintainers that make the models in the wheel."""
