"""The service: campaigns over HTTP, for many clients at once."""

from fallow.extras import check_extras

check_extras("a service", "httptools", "msgspec", "starlette", "uvicorn")
