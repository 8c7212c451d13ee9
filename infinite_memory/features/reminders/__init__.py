"""Long-term memories of conversations, their triggers, and what is due."""
