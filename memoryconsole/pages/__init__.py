"""The console's pages, one module per page. `frame.py` is the door each of them goes through."""

from memoryconsole.pages.frame import Frame, error_page, signed_in, store_page

__all__ = ["Frame", "error_page", "signed_in", "store_page"]
