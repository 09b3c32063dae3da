"""The interface of LibreTranslate."""
