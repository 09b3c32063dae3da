"""Tags and placeholders in translations: taken out, and put back where their words went."""
