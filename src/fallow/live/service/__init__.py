"""The service: campaigns over HTTP, for many clients at once."""
