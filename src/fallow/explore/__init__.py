"""`fallow explore`: a page with sliders, on which the library plans as they move."""
