"""The steps of a ranking that change the totals of single memories."""
