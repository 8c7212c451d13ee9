"""Conditions in JavaScript, evaluated in a child process that can be ended."""
