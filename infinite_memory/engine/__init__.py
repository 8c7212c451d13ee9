"""Operations: the verbs of the product, one per file, and the parts that they share."""
