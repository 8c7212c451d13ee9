"""An invented month of a life, and pictures of the page that shows it."""
