"""Short-term memory: what recent messages call to mind, fading with time.

A short-term memory is a stretch of a conversation with weighted keywords. It comes up by the
keywords that it shares with the messages of the moment, less a penalty that grows with its age, and
more easily the more often it came up.
"""
