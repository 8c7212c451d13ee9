"""Write: remember, revise, forget, and what decides duplicates and successors."""
