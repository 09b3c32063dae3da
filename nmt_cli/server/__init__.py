"""`nmt serve`: translation over HTTP, for programs (`/v1`) and for clients of LibreTranslate."""
