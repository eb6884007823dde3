"""`fallow explore`: a page with sliders, on which the library plans as they move."""

import fallow.live.service  # noqa: F401, it says which extra is missing
